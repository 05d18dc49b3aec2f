// Repeats of one replay: a directory whose directories are runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

namespace reprise {

struct RepeatedRun {
  std::string path;
  std::int64_t step_ns = 0;  // the median of its iterations; 0: none finished
};

// The run itself, or the runs in a directory, in order of their names; `path` if there are none.
[[nodiscard]] std::vector<std::string> RunsAt(const std::string& path);

// Reads and analyses every run. Sorted by their steps, shortest first.
[[nodiscard]] Result<std::vector<RepeatedRun>> ReadRepeats(const std::vector<std::string>& paths);

// The place of the median; of an even number the shorter one. `runs` are sorted and not empty.
[[nodiscard]] std::size_t MiddleOf(const std::vector<RepeatedRun>& runs);

}  // namespace reprise
