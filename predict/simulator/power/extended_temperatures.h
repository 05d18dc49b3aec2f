// Temperatures of a device in a step of many micro-batches, from its power in two steps of few.
// A period of constant powers maps the temperature at its begin to that at its end by a linear
// function, so that any number of periods has a closed form: the device's equation in
// predict/simulator/power/thermal.h, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "predict/machine/machine.h"
#include "predict/simulator/power/thermal.h"

namespace reprise {

struct ExtendedTemperatures {
  double mean = 0, max = 0;  // degrees Celsius, over the whole step
};

// A step in which the period by which `longer` exceeds `shorter` comes `times` more often than in
// `longer` (0 or more). Both begin with the device at `begin_celsius`; stretches touch. Nothing:
// `longer` is not `shorter` with a period put in, or that period does not follow one that is equal.
// Lengths are compared to the nanosecond, watts to a billionth. O(stretches).
[[nodiscard]] std::optional<ExtendedTemperatures> ExtendTemperatures(
    const ThermalModel& thermal, double air_celsius, double begin_celsius,
    std::span<const PowerStretch> shorter, std::span<const PowerStretch> longer,
    std::int64_t times);

}  // namespace reprise
