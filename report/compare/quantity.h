// What repeats of one measurement say together, and how sure a ratio of two such is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace reprise {

struct Quantity {
  double value = 0;            // median
  double least = 0, most = 0;  // of the repeats
  std::size_t repeats = 0;
};
// Nothing for no values.
[[nodiscard]] std::optional<Quantity> Describe(std::vector<double> values);

// A ratio of medians with its 95 % interval: Welch's on the logarithms, the standard error of a
// median taken as that of a mean times sqrt(pi/2) (exact for many normal values, cautious where
// outliers widen the deviation). No interval for fewer than two values on either side.
struct Ratio {
  double value = 1;
  std::optional<double> low, high;

  // Whether the interval leaves 1 out: only then is a difference shown.
  [[nodiscard]] bool Differs() const { return low && high && (*low > 1 || *high < 1); }
};
// How many repeats of each would narrow the interval of their ratio to `share` about it (0.03: to
// ±3 %), if repeats go on to spread as these values do. Nothing for fewer than two values of
// either, or if 1,000 are not enough.
[[nodiscard]] std::optional<std::size_t> RepeatsFor(double share, std::span<const double> values,
                                                    std::span<const double> base);
// `values` over `base`. Nothing where either is empty or any value is not above 0.
[[nodiscard]] std::optional<Ratio> RatioOf(std::span<const double> values,
                                           std::span<const double> base);

// 0.975 quantile of Student's t. Between the table's degrees of freedom: that of the smaller.
[[nodiscard]] double StudentT975(double degrees_of_freedom);

}  // namespace reprise
