// The report as JSON before it is text, and what several sections write. Only report/ sees this.
#pragma once

#include "report/sections/rows_json.h"
#include "report/values/report.h"

namespace reprise {

[[nodiscard]] Json ReportJson(const Report& report);

[[nodiscard]] Json CoverageJson(const Coverage& coverage);
// {"scaled": ns, …}; null where no time has a source.
[[nodiscard]] Json SourcesJson(const SourceTimes& from_ns);
[[nodiscard]] Json ClassJson(const ClassRow& row);

}  // namespace reprise
