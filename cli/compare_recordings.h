// `reprise compare` where one side at least is a trace set: operations are aligned, not replayed.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace reprise {

struct CompareRecordingsRequest {
  std::vector<std::string> sides;  // [LABEL=]PATH
  std::vector<std::string> allow;
  std::string output;  // page; empty: none
  bool json = false, quiet = false, force = false;
};

// Whether any of these sides is a trace set or an .et file.
[[nodiscard]] bool HasTraceSet(const std::vector<std::string>& sides);

// Whether this side is one run, without repeats.
[[nodiscard]] bool IsOneRun(const std::string& side);

// The exit code. Bad input: recordings that are not of one job, unless `allow` has "trace".
[[nodiscard]] Result<int> CompareRecordingsCommand(const CompareRecordingsRequest& request,
                                                   bool verbose);

}  // namespace reprise
