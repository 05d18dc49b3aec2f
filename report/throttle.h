// When and why a device throttled (report/throttling.h). Only report/ sees this.
#pragma once

#include <span>

#include "report/load.h"
#include "report/measured.h"
#include "report/series.h"
#include "report/throttling.h"

namespace reprise {

// `reasons` is the metric of the device's throttle reasons, `load` what its ranks ran. Host, device
// and source are the caller's to fill in.
[[nodiscard]] ThrottleRow DescribeThrottling(const Metric& reasons, const SampleTable& samples,
                                             Interval window, std::span<const MeasuredRank> ranks,
                                             const Load& load);

}  // namespace reprise
