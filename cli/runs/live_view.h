// What telemetry reads right now, as a table for people.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/metrics.h"
#include "report/telemetry/recent.h"

namespace reprise {

// What a live view shows besides the last value: so far back.
inline constexpr std::int64_t kLiveWindowNs = 10'000'000'000;

// One line a metric that has a value: its last one, and mean, least and greatest of the last
// kLiveWindowNs. Totals are shown as what they grow by in a second (joules as watts), states by the
// names of what holds.
[[nodiscard]] std::string LiveTable(std::span<const Metric> metrics, const RecentSamples& recent,
                                    bool colour);

}  // namespace reprise
