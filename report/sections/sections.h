// All sections of a report, or one, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "report/values/report.h"

namespace reprise {

// All sections, in lines of at most 100 columns.
[[nodiscard]] std::string FullText(const Report& report, bool colour);
// Usage: there is no such section.
[[nodiscard]] Status FindSection(const std::string& name);
// One section; says so where the run has nothing for it. Usage: there is no such section.
[[nodiscard]] Result<std::string> SectionText(const Report& report, const std::string& name,
                                              bool colour);
// In the order of FullText.
[[nodiscard]] std::vector<std::string> SectionNames();
// One JSON object.
[[nodiscard]] std::string JsonText(const Report& report);

}  // namespace reprise
