// The report as `reprise report` and the end of a replay print it.
#pragma once

#include <string>

#include "report/values/report.h"

namespace reprise {

// For people: the verdict, what it rests on and what changes its reading. At most 40 lines of at
// most 100 columns.
[[nodiscard]] std::string ShortText(const Report& report, bool colour);

}  // namespace reprise
