// JSON objects as rows of CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

namespace reprise {

// `rows` is an array of objects. The columns are the keys of all rows, in the order in which they
// first come; lists are joined by ';'; null is an empty field.
void WriteCsv(const nlohmann::ordered_json& rows, std::ostream& out);

}  // namespace reprise
