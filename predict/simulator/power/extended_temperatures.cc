#include "predict/simulator/power/extended_temperatures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace reprise {
namespace {

// Of watts, which are sums that round.
constexpr double kEqualWatts = 1e-9;

bool AreEqual(const PowerStretch& a, const PowerStretch& b) {
  return a.end_ns - a.begin_ns == b.end_ns - b.begin_ns &&
         std::abs(a.watts - b.watts) <= kEqualWatts * std::abs(a.watts);
}

double LengthOf(std::span<const PowerStretch> stretches) {
  return stretches.empty()
             ? 0
             : static_cast<double>(stretches.back().end_ns - stretches.front().begin_ns) * 1e-9;
}

// Adds up parts of a step, one after the other.
class HeatOfParts {
 public:
  HeatOfParts(const ThermalModel& thermal, double air_celsius, double begin_celsius)
      : thermal_(thermal), air_(air_celsius), now_(begin_celsius), max_(begin_celsius) {}

  void Add(std::span<const PowerStretch> part) {
    const Temperatures once = From(now_, part);
    integral_ += once.mean * LengthOf(part);
    seconds_ += LengthOf(part);
    now_ = once.at_end;
  }

  // The distance to the temperature at which the period ends as it begins shrinks by the same ratio
  // in each period. At each moment of the period, temperatures rise or fall from first to last, so
  // that the highest one is in one of these.
  void AddTimes(std::span<const PowerStretch> period, std::int64_t times) {
    const double length = LengthOf(period);
    const double tau = thermal_.kelvin_per_watt->value * thermal_.joules_per_kelvin->value;
    const auto n = static_cast<double>(times);
    const Temperatures first = From(now_, period);
    const double gone = -std::expm1(-length / tau);          // of the distance, in one period
    const double all_gone = -std::expm1(-n * length / tau);  // in all of them
    const double distance = (first.at_end - now_) / gone;
    integral_ += n * first.mean * length + distance * (n - all_gone / gone) * tau * gone;
    seconds_ += n * length;
    const double last_gone = -std::expm1(-(n - 1) * length / tau);
    now_ = From(now_ + distance * last_gone, period).at_end;
  }

  [[nodiscard]] ExtendedTemperatures Finish() const {
    return {.mean = seconds_ > 0 ? integral_ / seconds_ : now_, .max = max_};
  }

 private:
  Temperatures From(double celsius, std::span<const PowerStretch> part) {
    Temperatures out = TemperaturesFrom(thermal_, air_, celsius, part);
    max_ = std::max(max_, out.max);
    return out;
  }

  const ThermalModel& thermal_;
  double air_, now_, max_;
  double integral_ = 0, seconds_ = 0;
};

}  // namespace

std::optional<ExtendedTemperatures> ExtendTemperatures(const ThermalModel& thermal,
                                                       double air_celsius, double begin_celsius,
                                                       std::span<const PowerStretch> shorter,
                                                       std::span<const PowerStretch> longer,
                                                       std::int64_t times) {
  if (longer.size() <= shorter.size()) {
    return std::nullopt;
  }
  const std::size_t more = longer.size() - shorter.size();
  const auto same_begin = static_cast<std::size_t>(
      std::ranges::mismatch(shorter, longer, AreEqual).in1 - shorter.begin());
  const auto same_end = static_cast<std::size_t>(
      std::mismatch(shorter.rbegin(), shorter.rend(), longer.rbegin(), AreEqual).first -
      shorter.rbegin());
  // Where both hold, stretches of `longer` equal those one period later.
  if (same_begin + same_end < shorter.size() + more) {
    return std::nullopt;
  }
  const std::size_t at = shorter.size() - same_end;
  HeatOfParts heat(thermal, air_celsius, begin_celsius);
  heat.Add(longer.subspan(0, at));
  heat.AddTimes(longer.subspan(at, more), times + 1);
  heat.Add(longer.subspan(at + more));
  return heat.Finish();
}

}  // namespace reprise
