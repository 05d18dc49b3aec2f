#include "predict/simulator/power/thermal.h"

#include <algorithm>
#include <cmath>

namespace reprise {
namespace {

constexpr double kNsToSeconds = 1e-9;

double SecondsOf(const PowerStretch& stretch) {
  return static_cast<double>(stretch.end_ns - stretch.begin_ns) * kNsToSeconds;
}

}  // namespace

Temperatures TemperaturesFrom(const ThermalModel& thermal, double air_celsius, double begin_celsius,
                              std::span<const PowerStretch> stretches) {
  const double kelvin_per_watt = thermal.kelvin_per_watt->value;
  const double tau = kelvin_per_watt * thermal.joules_per_kelvin->value;
  Temperatures out;
  double now = begin_celsius;
  double integral = 0;
  double seconds = 0;
  out.max = now;
  for (const PowerStretch& stretch : stretches) {
    out.at_begin.push_back(now);
    const double length = SecondsOf(stretch);
    const double target = air_celsius + kelvin_per_watt * stretch.watts;
    const double gone = -std::expm1(-length / tau);  // of the way to the target
    integral += target * length + (now - target) * tau * gone;
    seconds += length;
    now += (target - now) * gone;
    out.max = std::max(out.max, now);
  }
  out.at_end = now;
  out.mean = seconds > 0 ? integral / seconds : now;
  return out;
}

Temperatures SteadyTemperatures(const ThermalModel& thermal, double air_celsius,
                                std::span<const PowerStretch> stretches) {
  const double tau = thermal.kelvin_per_watt->value * thermal.joules_per_kelvin->value;
  double seconds = 0;
  for (const PowerStretch& stretch : stretches) {
    seconds += SecondsOf(stretch);
  }
  if (seconds <= 0) {
    return TemperaturesFrom(thermal, air_celsius, air_celsius, stretches);
  }
  // The end is linear in the begin: T(end) = a + T(begin) exp(-seconds / tau).
  const double from_air = TemperaturesFrom(thermal, air_celsius, air_celsius, stretches).at_end;
  const double rise = (from_air - air_celsius) / -std::expm1(-seconds / tau);
  return TemperaturesFrom(thermal, air_celsius, air_celsius + rise, stretches);
}

}  // namespace reprise
