// Energy from samples: one rule for whoever samples and whoever reports.
#pragma once

#include <cstdint>
#include <span>

#include "core/metrics.h"
#include "core/records.h"

namespace reprise {

// Joules between two times from a total of joules (kEnergy: differences) or a power in watts
// (kGauge: trapezoids). `samples` are of one metric, by time; NaN values are passed over. At
// the ends the value is interpolated to the bound where a sample lies beyond it; where none does, a
// counter counts nothing more and a power is held. NaN if fewer than two samples fall inside.
[[nodiscard]] double IntegrateEnergyJoules(MetricKind kind, std::span<const Sample> samples,
                                           std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace reprise
