// The cap on implausible work (docs/coverage.md, "The cap").
#pragma once

#include <optional>
#include <string_view>

#include "et_schema/graph.h"
#include "replayer/plan/plan.h"

namespace reprise {

struct WorkRates {
  double flops_per_second = 0;
  double bytes_per_second = 0;
};

// The published peaks of a recorded device (device_peaks.def), by its name; nothing if it is not
// listed.
[[nodiscard]] std::optional<WorkRates> PeakOf(std::string_view device);

// Cuts each surrogate's work to what the recorded device can have done in the recorded time, and
// marks it as capped: the peak of a known device, else three times the best rate of its class among
// the operations that have a kernel (without one in the class: among all that have one). Times stay
// as they are. Does nothing without recorded durations, or without anything to compare with.
void CapSurrogates(const Graph& graph, Plan& plan);

}  // namespace reprise
