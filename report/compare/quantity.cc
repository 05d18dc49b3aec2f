#include "report/compare/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace reprise {
namespace {

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
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
  double mean = 0;
  for (const double value : values) {
    mean += std::log(value) / n;
  }
  double squares = 0;
  for (const double value : values) {
    squares += (std::log(value) - mean) * (std::log(value) - mean);
  }
  // Of two values the median is the mean.
  const double factor = values.size() == 2 ? 1 : std::numbers::pi / 2;
  return LogError{.variance = factor * squares / (n - 1) / n, .degrees_of_freedom = n - 1};
}

}  // namespace

std::optional<Quantity> Describe(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  Quantity quantity{.least = *least, .most = *most, .repeats = values.size()};
  quantity.value = MedianOf(std::move(values));
  return quantity;
}

std::optional<Ratio> RatioOf(std::span<const double> values, std::span<const double> base) {
  const auto usable = [](std::span<const double> of) {
    return !of.empty() && std::all_of(of.begin(), of.end(), [](double v) { return v > 0; });
  };
  if (!usable(values) || !usable(base)) {
    return std::nullopt;
  }
  Ratio ratio{.value =
                  MedianOf({values.begin(), values.end()}) / MedianOf({base.begin(), base.end()})};
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
