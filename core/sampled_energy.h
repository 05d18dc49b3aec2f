// Energy from samples: one rule for sampling and for reports.
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

// The curve between two times as points, from one bound to the other. Between two samples a total
// grows evenly and a power changes evenly, so that straight lines connect the points. `samples` are
// of one metric, by time; NaN values are skipped. A reading of a total that equals the one before
// means that the meter has not updated: it is skipped too, except the first and the last sample. At
// each end the value is interpolated if a sample lies beyond; otherwise a total stops growing and a
// power is held. Empty if fewer than two samples lie inside.
[[nodiscard]] std::vector<EnergyPoint> EnergyPoints(MetricKind kind,
                                                    std::span<const Sample> samples,
                                                    std::int64_t begin_ns, std::int64_t end_ns);

// Joules between two such points.
[[nodiscard]] double JoulesBetween(MetricKind kind, const EnergyPoint& a, const EnergyPoint& b);

// Joules between two times, by EnergyPoints. NaN if fewer than two samples fall inside.
[[nodiscard]] double IntegrateEnergyJoules(MetricKind kind, std::span<const Sample> samples,
                                           std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace reprise
