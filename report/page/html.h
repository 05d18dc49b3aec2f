// Pages that need no network and load nothing: style, scripts and data are in the one file. Names
// in the data are always text: none can become markup or script.
#pragma once

#include <string>
#include <string_view>

#include "report/page/html_data.h"
#include "report/values/report.h"

namespace reprise {

enum class PageKind { kReport, kComparison };

// The page whose data is `json`: for kReport HtmlDataJson's (report/page/html_data.h), for
// kComparison a comparison's, with the figures that were asked for or all sections.
[[nodiscard]] std::string HtmlPage(std::string_view json, PageKind kind);

// A run's report (docs/report.md). Its size is bounded whatever the run's is.
[[nodiscard]] std::string HtmlText(const Report& report, const PageDetails& details);

// JSON as it may stand inside of a <script> element: nothing in it can end the element or open a
// comment, and it means the same.
[[nodiscard]] std::string EscapeForScript(std::string_view json);

}  // namespace reprise
