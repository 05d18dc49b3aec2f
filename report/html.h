// A run's report as one HTML file: docs/report.md.
#pragma once

#include <string>
#include <string_view>

#include "report/measured_run.h"
#include "report/report.h"

namespace reprise {

// Needs no network and loads nothing: style, scripts and data are in it. What names in the run say
// is only ever text: none can become markup or script. `report` is Analyze's of the same run. Its
// size is bounded whatever the run's is (report/html_data.h).
[[nodiscard]] std::string HtmlText(const MeasuredRun& run, const Report& report);

// JSON as it may stand inside of a <script> element: nothing in it can end the element or open a
// comment, and it means the same.
[[nodiscard]] std::string EscapeForScript(std::string_view json);

}  // namespace reprise
