// Samples in Prometheus's text exposition format, version 0.0.4.
#pragma once

#include <span>
#include <string>

#include "core/metrics.h"
#include "report/telemetry/recent.h"

namespace reprise {

// The last value of each metric, as `reprise_<name>_<unit>` with labels device, host and source
// (and modelled="true"): totals as counters that end in `_total`, everything else as gauges. A
// state has one 0 or 1 for each condition that it names (label `state`). Metrics without a value
// are left out. Names follow https://prometheus.io/docs/practices/naming/.
[[nodiscard]] std::string PrometheusText(std::span<const Metric> metrics,
                                         const RecentSamples& recent, const std::string& host);

}  // namespace reprise
