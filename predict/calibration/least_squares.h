// Damped Gauss–Newton (Levenberg 1944, Marquardt 1963) for few parameters.
#pragma once

#include <cmath>
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

// Of a parameter between 0 and 1.
[[nodiscard]] inline double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// One deviation beyond which a row counts as odd: there the square root of the distance counts, so
// that a few odd rows move a fit little. `residual` is in deviations.
void SoftenBeyondOne(Residual& residual);

// Standard deviations of the parameters there, if residuals are in deviations of their own and
// independent: what the residuals leave open. As the covariance of linear least squares.
[[nodiscard]] std::vector<double> DeviationsOf(std::span<const Residual> residuals,
                                               std::size_t parameters);

}  // namespace reprise
