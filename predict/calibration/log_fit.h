// What all fits to tables share: distances of times as logarithms, and few odd rows that move
// little.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace reprise {

inline constexpr double kSecondNs = 1e9;
// Fewer rows of a type say nothing about the numbers of a class.
inline constexpr std::size_t kFewestRows = 50;
// A fit takes rows off by more than this factor from a first one for odd, and leaves them out.
inline constexpr double kOutlierFactor = 2;
// Operations from here on are called large.
inline constexpr double kLargeFlops = 1e11;

// What a row is expected to be off by, of its logarithm.
inline constexpr double kRowDeviation = 0.15;

[[nodiscard]] bool IsOutlier(double predicted_ns, double measured_ns);
// |predicted / measured - 1|.
[[nodiscard]] double RelativeError(double predicted_ns, double measured_ns);

// Parameters as the fit moves them: logarithms. A parameter that no row depends on stays at what is
// expected.
struct LogModel {
  std::vector<double> expected, deviation;
  // Of all rows, in their order.
  std::function<std::vector<double>(std::span<const double> parameters)> ns;
};
// Slopes are differences: the model may be any function, rounded to whole nanoseconds.
[[nodiscard]] std::vector<double> FitLogTimes(const LogModel& model,
                                              std::span<const double> measured_ns);

}  // namespace reprise
