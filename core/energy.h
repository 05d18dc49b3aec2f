// Energy from samples: one rule for whoever samples and whoever reports.
#pragma once

#include <cstdint>
#include <span>

#include "core/records.h"

namespace reprise {

// What a metric's values mean for energy.
enum class EnergyKind : std::uint8_t {
  kCounterJoules,  // a growing total: differences
  kPowerWatts,     // an instantaneous value: trapezoids
};

// Joules between two times. `samples` are of one metric, by time; NaN values are passed over. At
// the ends the value is interpolated to the bound where a sample lies beyond it; where none does, a
// counter counts nothing more and a power is held. NaN if fewer than two samples fall inside.
[[nodiscard]] double IntegrateEnergyJoules(EnergyKind kind, std::span<const Sample> samples,
                                           std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace reprise
