// Reads what `replay --check-values` counted, and says where it matters.
#pragma once

#include <string>
#include <vector>

#include "report/run/run.h"
#include "report/values/report.h"

namespace reprise {

// All ranks together: the largest share of denormals, infinities and NaN first, then by name. Empty
// where nothing was checked.
[[nodiscard]] std::vector<ValueRow> CollectValues(const RunData& run);

// "aten::bmm: 31 % denormals, 2 infinities"; empty where its values are a training's, or unchecked.
[[nodiscard]] std::string OddValuesText(const Report& report, const std::string& operation);
// Where operations that differ most are slower and have such values, these are the likely cause.
void NameValuesAsCause(Report& report);
// One sentence on all operations; empty likewise.
[[nodiscard]] std::string OddValuesWarning(const Report& report);

}  // namespace reprise
