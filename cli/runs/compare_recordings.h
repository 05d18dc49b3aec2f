// `reprise compare` where one side at least is a trace set: operations are aligned, not replayed.
#pragma once

#include <string>
#include <vector>

#include "cli/runs/compared_sides.h"
#include "core/result.h"
#include "report/compare/condition.h"

namespace reprise {

// A comparison as the user asks for it, of runs or of trace sets.
struct CompareRequest {
  std::vector<GivenSide> sides;
  std::vector<std::string> allow;
  std::vector<Condition> conditions;
  std::vector<std::string> figures;  // on the page in place of the comparison
  bool any_job = false;              // the figures are a sweep's: sides need not align
  std::string output;                // page; empty: none
  bool json = false, markdown = false, quiet = false, force = false;
};

// Whether any of these sides is a trace set or an .et file.
[[nodiscard]] bool HasTraceSet(const std::vector<GivenSide>& sides);

// Whether there is one side, of one run.
[[nodiscard]] bool IsOneRun(const std::vector<GivenSide>& sides);

// What a comparison found, as far as the user asks for it.
struct ShownComparison {
  std::string page;                     // HTML
  std::string text;                     // for stdout
  std::vector<std::string> violations;  // conditions that hold
};

// Bad input: recordings that are not of one job, unless `allow` has "trace"; repeats of other ranks
// or steps, unless it has "part".
[[nodiscard]] Result<ShownComparison> ShowRecordings(const CompareRequest& request, bool verbose);

}  // namespace reprise
