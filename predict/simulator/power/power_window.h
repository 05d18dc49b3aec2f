// A device's power as a limiter sees it: its mean over a window of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "predict/simulator/power/power_track.h"

namespace reprise {

struct PowerWindow {
  std::int64_t begin_ns = 0, end_ns = 0;
  double watts = 0;                 // mean
  std::size_t first = 0, last = 0;  // intervals of the track that it overlaps, both included
};

// Of windows of `window_ns` anywhere in the track: where the mean is above `watts`, as many as fit
// without an overlap, the highest first and of equal ones the earliest; ascending. Where such
// windows no longer stand out, others may: ask again. A track that is shorter is one window. 0:
// each interval is a window of its own. O(n log n).
[[nodiscard]] std::vector<PowerWindow> WindowsAbove(const PowerTrack& track, std::int64_t window_ns,
                                                    double watts);

// The window with the highest mean, the earliest of equal ones (to a billionth). Nothing: the track
// is empty.
[[nodiscard]] std::optional<PowerWindow> HighestWindow(const PowerTrack& track,
                                                       std::int64_t window_ns);

}  // namespace reprise
