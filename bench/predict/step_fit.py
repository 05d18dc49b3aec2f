"""Fits numbers of a machine to measured steps, and says how good predictions are. Plain Python."""
import math

KINK = 0.05  # of the logarithm of predicted over measured: beyond, a row pulls no harder
STEP = 0.05  # of a finite difference


def solve(matrix, right):
    """Gauss's elimination with pivots."""
    n = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, n):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    result = [0.0] * n
    for i in reversed(range(n)):
        result[i] = (rows[i][n] - sum(rows[i][k] * result[k] for k in range(i + 1, n))) / rows[i][i]
    return result


def huber(residual):
    x = abs(residual) / KINK
    return x * x if x <= 1 else 2 * x - 1


class Parameter:
    """A number of the machine: its default, the deviation of its logarithm, the largest value, and where the search starts."""

    def __init__(self, path, default, deviation, largest=math.inf, first=None):
        self.path, self.default, self.deviation, self.largest = path, default, deviation, largest
        self.first = math.log((first or default) / default)

    def value(self, theta):
        return min(self.default * math.exp(theta), self.largest)


def numbers_of(parameters, thetas):
    return {parameter.path: parameter.value(theta) for parameter, theta in zip(parameters, thetas)}


def fit(predictor, rows, parameters, log=lambda text: None, rounds=6):
    """The numbers that minimise the loss over the rows, by path."""
    measured = [math.log(row["iteration_ms"]) for row in rows]

    def residuals(thetas):
        machine = predictor.with_numbers(numbers_of(parameters, thetas))
        return [math.log(time) - of for time, of in zip(predictor.predict(rows, machine, whole=False), measured)]

    def loss(thetas, at):
        return (sum(huber(r) for r in at) +
                sum((theta / parameter.deviation) ** 2 for theta, parameter in zip(thetas, parameters)))

    def slopes_at(thetas, at):
        columns = []
        for j, parameter in enumerate(parameters):
            near_largest = parameter.default * math.exp(thetas[j] + STEP) > parameter.largest
            step = -STEP if near_largest else STEP
            moved = [theta + (step if k == j else 0) for k, theta in enumerate(thetas)]
            columns.append([(new - old) / step for new, old in zip(residuals(moved), at)])
        return columns

    thetas = [parameter.first for parameter in parameters]
    at = residuals(thetas)
    best = loss(thetas, at)
    log(f"  loss {best:.1f}, mean error {mean_error(at):.1%} at first")
    fresh = False
    columns = None
    for turn in range(rounds):
        if columns is None:
            columns, fresh = slopes_at(thetas, at), True
        # Rows beyond the kink count as what they pull (iteratively reweighted least squares).
        weights = [1 / KINK ** 2 * min(1, KINK / max(abs(r), 1e-12)) for r in at]
        size = len(parameters)
        matrix = [[sum(w * a * b for w, a, b in zip(weights, columns[i], columns[j])) for j in range(size)]
                  for i in range(size)]
        right = [-sum(w * a * r for w, a, r in zip(weights, columns[i], at)) for i in range(size)]
        for i, parameter in enumerate(parameters):
            matrix[i][i] += 1 / parameter.deviation ** 2
            right[i] -= thetas[i] / parameter.deviation ** 2
        move = solve(matrix, right)
        largest = max(abs(x) for x in move)
        move = [x * min(1, 0.7 / max(largest, 1e-12)) for x in move]
        for _ in range(3):
            new = [theta + x for theta, x in zip(thetas, move)]
            new = [min(theta, math.log(parameter.largest / parameter.default))
                   for theta, parameter in zip(new, parameters)]
            new_at = residuals(new)
            new_loss = loss(new, new_at)
            if new_loss < best:
                break
            move = [x / 2 for x in move]
        if new_loss >= best:
            if fresh:
                break
            columns = None
            continue
        gain = best - new_loss
        moved = [a - b for a, b in zip(new, thetas)]
        length = sum(x * x for x in moved)
        # Broyden's update of the slopes; anew every third turn.
        columns = [[c + (b - a - sum(columns[k][i] * moved[k] for k in range(size))) * moved[j] / length
                    for i, (c, a, b) in enumerate(zip(columns[j], at, new_at))] for j in range(size)]
        thetas, at, best = new, new_at, new_loss
        log(f"  loss {best:.1f}, mean error {mean_error(at):.1%}: " +
            ", ".join(f"{path} {value:.3g}" for path, value in numbers_of(parameters, thetas).items()))
        if gain < 0.005 * best + 0.02:
            if fresh:
                break
            columns = None
            continue
        fresh = False
        if turn % 3 == 2:
            columns = None
    return numbers_of(parameters, thetas)


def mean_error(logs):
    """Mean of |predicted / measured - 1|."""
    return sum(abs(math.expm1(r)) for r in logs) / len(logs)


def errors(rows, times):
    return [time / row["iteration_ms"] - 1 for row, time in zip(rows, times)]


def summary(rows, times):
    """Mean, median and worst of |predicted / measured - 1|, and Kendall's tau."""
    sizes = sorted(abs(e) for e in errors(rows, times))
    middle = len(sizes) // 2
    median = sizes[middle] if len(sizes) % 2 else (sizes[middle - 1] + sizes[middle]) / 2
    return {"mean": sum(sizes) / len(sizes), "median": median, "worst": sizes[-1],
            "tau": kendall([row["iteration_ms"] for row in rows], times)}


def kendall(measured, predicted, tie=0.02):
    """Agreement of orders, from -1 to 1; pairs whose measured times differ by less than `tie` are left out."""
    agree = total = 0
    for i in range(len(measured)):
        for j in range(i):
            if max(measured[i], measured[j]) < (1 + tie) * min(measured[i], measured[j]):
                continue
            total += 1
            product = (measured[i] - measured[j]) * (predicted[i] - predicted[j])
            agree += (product > 0) - (product < 0)
    return agree / total if total else math.nan


def least_error_factor(ratios):
    """The factor f with the least mean of |f x - 1|: a weighted median of 1 / x."""
    points = sorted((1 / x, x) for x in ratios)
    half = sum(weight for _, weight in points) / 2
    for point, weight in points:
        half -= weight
        if half <= 0:
            return point
    return points[-1][0]


def regression(features, values, strength=1e-6):
    """Least squares; the first feature is 1."""
    size = len(features[0])
    matrix = [[sum(row[i] * row[j] for row in features) + (strength if i == j else 0) for j in range(size)]
              for i in range(size)]
    return solve(matrix, [sum(row[i] * value for row, value in zip(features, values)) for i in range(size)])
