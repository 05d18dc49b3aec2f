// Energy from samples: one rule for whoever samples and whoever reports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/metrics.h"
#include "core/records.h"

namespace reprise {

// A value at a time: of a total of joules (kEnergy), or watts (kGauge).
struct EnergyPoint {
  std::int64_t time_ns = 0;
  double value = 0;
};

// What lies between two times, from one to the other: between two points a total grows evenly, a
// power changes evenly. `samples` are of one metric, by time; NaN values are passed over. Readings
// of a total that has not changed say only that its meter has not counted yet: they are passed over
// too, but for the first and the last. At the ends the value is interpolated to the bound where a
// sample lies beyond it; where none does, a total counts nothing more and a power is held. Empty if
// fewer than two samples fall inside.
[[nodiscard]] std::vector<EnergyPoint> EnergyPoints(MetricKind kind,
                                                    std::span<const Sample> samples,
                                                    std::int64_t begin_ns, std::int64_t end_ns);

// Joules between two such points.
[[nodiscard]] double JoulesBetween(MetricKind kind, const EnergyPoint& a, const EnergyPoint& b);

// Joules between two times, by EnergyPoints. NaN if fewer than two samples fall inside.
[[nodiscard]] double IntegrateEnergyJoules(MetricKind kind, std::span<const Sample> samples,
                                           std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace reprise
