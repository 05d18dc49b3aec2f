// The report as JSON before it is text, and what several sections write. Only report/ sees this.
#pragma once

#include "core/json_fields.h"
#include "report/values/report.h"

namespace reprise {

[[nodiscard]] Json ReportJson(const Report& report);

// {"scaled": ns, …}; null where no time has a source.
[[nodiscard]] Json SourcesJson(const SourceTimes& from_ns);
void to_json(Json& json, const ClassRow& row);

REPRISE_JSON_FIELDS(Coverage, real, surrogate, timed, skipped, waiting, host, capped, unknown,
                    compiled)

}  // namespace reprise
