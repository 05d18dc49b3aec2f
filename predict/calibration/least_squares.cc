#include "predict/calibration/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reprise {
namespace {

double SumOfSquares(std::span<const Residual> residuals) {
  double sum = 0;
  for (const Residual& residual : residuals) {
    sum += residual.value * residual.value;
  }
  return sum;
}

// Solves A x = b in place by Cholesky's method; A is symmetric, row by row, and positive definite.
// False: it is not.
bool SolveSymmetric(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      a[j * n + j] -= a[j * n + k] * a[j * n + k];
    }
    if (!(a[j * n + j] > 0)) {
      return false;
    }
    a[j * n + j] = std::sqrt(a[j * n + j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) {
        a[i * n + j] -= a[i * n + k] * a[j * n + k];
      }
      a[i * n + j] /= a[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      b[i] -= a[i * n + k] * b[k];
    }
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) {
      b[i] -= a[k * n + i] * b[k];
    }
    b[i] /= a[i * n + i];
  }
  return true;
}

struct NormalEquations {
  std::vector<double> matrix;  // row by row
  std::vector<double> right;
};

NormalEquations EquationsOf(std::span<const Residual> residuals, std::size_t parameters) {
  NormalEquations equations{std::vector<double>(parameters * parameters),
                            std::vector<double>(parameters)};
  for (const Residual& residual : residuals) {
    for (const auto& [i, by_i] : residual.slopes) {
      equations.right[i] -= by_i * residual.value;
      for (const auto& [j, by_j] : residual.slopes) {
        equations.matrix[i * parameters + j] += by_i * by_j;
      }
    }
  }
  return equations;
}

}  // namespace

void SoftenBeyondOne(Residual& residual) {
  const double size = std::abs(residual.value);
  if (size <= 1) {
    return;
  }
  const double weight = 1 / std::sqrt(size);
  residual.value *= weight;
  for (auto& [parameter, slope] : residual.slopes) {
    slope *= weight / 2;
  }
}

std::vector<double> DeviationsOf(std::span<const Residual> residuals, std::size_t parameters) {
  const NormalEquations equations = EquationsOf(residuals, parameters);
  std::vector<double> deviations(parameters);
  for (std::size_t i = 0; i < parameters; ++i) {
    std::vector<double> matrix = equations.matrix;
    std::vector<double> column(parameters);
    column[i] = 1;
    deviations[i] = SolveSymmetric(matrix, column) ? std::sqrt(std::max(column[i], 0.0))
                                                   : std::numeric_limits<double>::infinity();
  }
  return deviations;
}

std::vector<double> MinimizeSquares(const ResidualsAt& residuals, std::vector<double> start) {
  constexpr int kSteps = 200;
  constexpr double kSmallest = 1e-12;  // relative gain of a step
  constexpr double kGiveUp = 1e12;
  double damping = 1e-3;
  std::vector<Residual> now = residuals(start);
  double sum = SumOfSquares(now);
  for (int step = 0; step < kSteps && damping < kGiveUp; ++step) {
    NormalEquations equations = EquationsOf(now, start.size());
    for (std::size_t i = 0; i < start.size(); ++i) {
      equations.matrix[i * start.size() + i] *= 1 + damping;
    }
    bool better = SolveSymmetric(equations.matrix, equations.right);
    std::vector<double> tried = start;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      tried[i] += equations.right[i];
    }
    std::vector<Residual> then = residuals(tried);
    const double sum_then = SumOfSquares(then);
    better = better && sum_then < sum;  // false for NaN, too
    damping *= better ? 0.3 : 4;
    if (!better) {
      continue;
    }
    const double gain = sum - sum_then;
    start = std::move(tried);
    now = std::move(then);
    sum = sum_then;
    if (gain <= kSmallest * sum) {
      break;
    }
  }
  return start;
}

}  // namespace reprise
