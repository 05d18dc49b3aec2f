// A run as a timeline: for every rank what was recorded and, below it, what was replayed; telemetry
// as counters.
#pragma once

#include <string>
#include <vector>

#include "core/timeline.h"
#include "report/run/run.h"
#include "report/timeline/run_clocks.h"

namespace reprise {

struct RunTimeline {
  Timeline timeline;
  std::vector<std::string> notes;  // what the user should know of its clocks
};

// The recording is drawn once, from the beginning of the first measured iteration that is shown.
// A recorded transfer lasts as long as it moved data (after the last member arrived), a recorded
// wait as long as was left after what it waited for: that is what a run keeps of them.
[[nodiscard]] RunTimeline TimelineOfRun(const RunData& run, const RunTimelineOptions& options);

}  // namespace reprise
