// The report as JSON before it is text, and what several sections write. Only report/ sees this.
#pragma once

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace reprise {

[[nodiscard]] nlohmann::ordered_json ReportJson(const Report& report);

[[nodiscard]] nlohmann::ordered_json CoverageJson(const Coverage& coverage);
// {"scaled": ns, …}; null where no time has a source.
[[nodiscard]] nlohmann::ordered_json SourcesJson(const SourceTimes& from_ns);
[[nodiscard]] nlohmann::ordered_json ClassJson(const ClassRow& row);

}  // namespace reprise
