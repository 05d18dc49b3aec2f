#include "report/compare/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/median.h"

namespace reprise {
namespace {

// Squared deviation of the logarithms of single values; at least two.
double LogVariance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) {
    mean += std::log(value) / n;
  }
  double squares = 0;
  for (const double value : values) {
    squares += (std::log(value) - mean) * (std::log(value) - mean);
  }
  return squares / (n - 1);
}

// Of the variance of a median to that of a mean. Of two values the median is the mean.
double MedianFactor(std::size_t values) { return values == 2 ? 1 : std::numbers::pi / 2; }

bool Usable(std::span<const double> values) {
  return !values.empty() && std::ranges::all_of(values, [](double value) { return value > 0; });
}

// Squared standard error of the median of logarithms, and of how many values.
struct LogError {
  double variance = 0;
  double degrees_of_freedom = 0;
};

std::optional<LogError> ErrorOf(std::span<const double> values) {
  if (values.size() < 2) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(values.size());
  return LogError{.variance = MedianFactor(values.size()) * LogVariance(values) / n,
                  .degrees_of_freedom = n - 1};
}

}  // namespace

std::optional<Quantity> Describe(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto [least, most] = std::ranges::minmax_element(values);
  Quantity quantity{.least = *least, .most = *most, .repeats = values.size()};
  quantity.value = *Median(values);
  return quantity;
}

std::optional<Ratio> RatioOf(std::span<const double> values, std::span<const double> base) {
  if (!Usable(values) || !Usable(base)) {
    return std::nullopt;
  }
  std::vector<double> of(values.begin(), values.end());
  std::vector<double> to(base.begin(), base.end());
  Ratio ratio{.value = *Median(of) / *Median(to)};
  const auto a = ErrorOf(values);
  const auto b = ErrorOf(base);
  if (!a || !b) {
    return ratio;
  }
  const double variance = a->variance + b->variance;
  double half_width = 0;
  if (variance > 0) {
    const double degrees_of_freedom = variance * variance /
                                      (a->variance * a->variance / a->degrees_of_freedom +
                                       b->variance * b->variance / b->degrees_of_freedom);
    half_width = StudentT975(degrees_of_freedom) * std::sqrt(variance);
  }
  ratio.low = ratio.value * std::exp(-half_width);
  ratio.high = ratio.value * std::exp(half_width);
  return ratio;
}

std::optional<std::size_t> RepeatsFor(double share, std::span<const double> values,
                                      std::span<const double> base) {
  constexpr std::size_t kMaxRepeats = 1000;
  if (!Usable(values) || !Usable(base) || values.size() < 2 || base.size() < 2) {
    return std::nullopt;
  }
  const double spread = LogVariance(values) + LogVariance(base);
  for (std::size_t n = 2; n <= kMaxRepeats; ++n) {
    const auto repeats = static_cast<double>(n);
    const double error = std::sqrt(MedianFactor(n) * spread / repeats);
    if (StudentT975(2 * (repeats - 1)) * error <= std::log1p(share)) {
      return n;
    }
  }
  return std::nullopt;
}

double StudentT975(double degrees_of_freedom) {
  // Abramowitz and Stegun, Handbook of Mathematical Functions, table 26.10.
  static constexpr std::array<std::pair<double, double>, 34> kTable = {{
      {1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},   {6, 2.447},   {7, 2.365},
      {8, 2.306},  {9, 2.262},  {10, 2.228}, {11, 2.201}, {12, 2.179},  {13, 2.160},  {14, 2.145},
      {15, 2.131}, {16, 2.120}, {17, 2.110}, {18, 2.101}, {19, 2.093},  {20, 2.086},  {21, 2.080},
      {22, 2.074}, {23, 2.069}, {24, 2.064}, {25, 2.060}, {26, 2.056},  {27, 2.052},  {28, 2.048},
      {29, 2.045}, {30, 2.042}, {40, 2.021}, {60, 2.000}, {120, 1.980}, {1e9, 1.960},
  }};
  double quantile = kTable.front().second;
  for (const auto& [degrees, value] : kTable) {
    if (degrees <= degrees_of_freedom) {
      quantile = value;
    }
  }
  return quantile;
}

}  // namespace reprise
