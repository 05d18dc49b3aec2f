// How the recordings of a capture were put together, for people (for programs: et_schema/json.h).
#pragma once

#include <string>
#include <vector>

#include "et_schema/link_report.h"

namespace reprise {

// "by record function id: 988 of 988 host records have a time"; empty if nothing was linked.
[[nodiscard]] std::string Summary(const LinkReport& link);
// Of all ranks together, in one line.
[[nodiscard]] std::string Summary(const std::vector<const LinkReport*>& links);

}  // namespace reprise
