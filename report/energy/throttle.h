// When and why a device throttled (report/values/thermal_values.h). Only report/ sees this.
#pragma once

#include <span>

#include "report/energy/load.h"
#include "report/energy/series.h"
#include "report/nodes/measured.h"
#include "report/values/thermal_values.h"

namespace reprise {

// `reasons` is the metric of the device's throttle reasons, `load` what its ranks ran. Host, device
// and source are the caller's to fill in.
[[nodiscard]] ThrottleRow DescribeThrottling(const Metric& reasons, const SampleTable& samples,
                                             Interval window, std::span<const MeasuredRank> ranks,
                                             const Load& load);

}  // namespace reprise
