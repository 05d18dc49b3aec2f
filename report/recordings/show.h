// What was found, for people and for programs. docs/comparisons.md has the keys of the JSON.
#pragma once

#include <string>
#include <vector>

#include "report/compare/compare_runs.h"
#include "report/recordings/ranks.h"
#include "report/recordings/recording.h"
#include "report/recordings/recording_difference.h"

namespace reprise {

// The first recording is what the others are compared with: difference i is of recording i + 1.
struct ComparedRecordings {
  std::vector<RecordedJob> recordings;  // of each side; of several repeats the one in the middle
  std::vector<RecordingDifference> differences;
  std::vector<RankComparison> ranks;  // by side
  std::vector<ComparedSide> sides;    // labels, reports of runs
  Comparison comparison;              // report/recordings/quantities.h
};

// The verdict first, at most 100 columns; at most kRecordingLines lines, or with `full` everything.
inline constexpr std::size_t kRecordingLines = 40;
[[nodiscard]] std::string RecordingsText(const ComparedRecordings& compared, bool colour,
                                         bool full);
// For a review's page or a CI's summary: everything that `full` has, the first rows of long tables.
[[nodiscard]] std::string RecordingsMarkdown(const ComparedRecordings& compared);
// One JSON object. `timelines`: with what the page draws besides.
[[nodiscard]] std::string RecordingsJson(const ComparedRecordings& compared, bool timelines);

}  // namespace reprise
