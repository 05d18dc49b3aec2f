// What JsonText writes, before it is text. Only report/ sees this.
#pragma once

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace reprise {

[[nodiscard]] nlohmann::ordered_json ReportJson(const Report& report);

}  // namespace reprise
