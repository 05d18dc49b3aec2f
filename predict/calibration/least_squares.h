// Damped Gauss–Newton (Levenberg 1944, Marquardt 1963) for few parameters.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace reprise {

// One residual and its derivatives by those parameters that it depends on.
struct Residual {
  double value = 0;
  std::vector<std::pair<std::size_t, double>> slopes;
};
// Residuals at the parameters; always as many, in the same order.
using ResidualsAt = std::function<std::vector<Residual>(std::span<const double> parameters)>;

// The parameters at which the sum of squared residuals is least, from `start` on: a local minimum.
// Deterministic. Every parameter must have a residual of its own that bounds it (a ridge).
[[nodiscard]] std::vector<double> MinimizeSquares(const ResidualsAt& residuals,
                                                  std::vector<double> start);

}  // namespace reprise
