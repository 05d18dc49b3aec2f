// Temperatures of devices: one thermal resistance and capacity each, and air that the devices in
// front have warmed.
//
//   C dT/dt = P - (T - T_air) / R
//   T_air   = inlet + preheat x (mean power of the devices in front of it, in the same air)
//
// Within a stretch of constant power T approaches T_air + R P exponentially, with R C; stretches
// are joined exactly, without steps of time. Repeated until nothing changes, a step's mean
// temperature is T_air + R x its mean power.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "predict/machine/machine.h"

namespace reprise {

// A device's constant power from one time to another.
struct PowerStretch {
  std::int64_t begin_ns = 0, end_ns = 0;
  double watts = 0;
};

struct Temperatures {
  std::vector<double> at_begin;  // by stretch
  double at_end = 0;
  double mean = 0, max = 0;
};

// From a temperature at the begin of the first stretch on. Stretches touch.
[[nodiscard]] Temperatures TemperaturesFrom(const ThermalModel& thermal, double air_celsius,
                                            double begin_celsius,
                                            std::span<const PowerStretch> stretches);
// The same of a step that repeats for ever: it ends as warm as it begins.
[[nodiscard]] Temperatures SteadyTemperatures(const ThermalModel& thermal, double air_celsius,
                                              std::span<const PowerStretch> stretches);

}  // namespace reprise
