// How the recordings of a capture were put together, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "et_schema/link_report.h"

namespace reprise {

// Null if nothing was linked.
[[nodiscard]] nlohmann::ordered_json ToJson(const LinkReport& link);
// "by record function id: 988 of 988 host records have a time"; empty if nothing was linked.
[[nodiscard]] std::string Summary(const LinkReport& link);

}  // namespace reprise
