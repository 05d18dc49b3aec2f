// What was found, for people and for programs. docs/comparisons.md has the keys of the JSON.
#pragma once

#include <string>
#include <vector>

#include "recordings/difference.h"
#include "recordings/recording.h"

namespace reprise {

// The first recording is what the others are compared with: difference i is of recording i + 1.
struct ComparedRecordings {
  std::vector<RecordedJob> recordings;
  std::vector<RecordingDifference> differences;
};

// The verdict first, at most 100 columns; at most kRecordingLines lines, or with `full` everything.
inline constexpr std::size_t kRecordingLines = 40;
[[nodiscard]] std::string RecordingsText(const ComparedRecordings& compared, bool colour,
                                         bool full);
// One JSON object. `timelines`: with what the page draws besides.
[[nodiscard]] std::string RecordingsJson(const ComparedRecordings& compared, bool timelines);

}  // namespace reprise
