// JSON texts as nlohmann's values. The parser is compiled here alone: each other file that used it
// would take a second longer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace reprise {

// Json: nlohmann::json or nlohmann::ordered_json. Of a text that is no JSON: throws
// nlohmann::json::parse_error or, without `throws`, returns a value that is_discarded(). Depth and
// size: core/input_file.h (CheckJsonText).
template <typename Json>
[[nodiscard]] Json ParseJson(std::string_view text, bool throws = true);
// Throws likewise. `twice`: the last key that stands twice in one object, of which the value has
// one; else unchanged.
template <typename Json>
[[nodiscard]] Json ParseJson(std::string_view text, std::string& twice);

// What is wrong with a text that is no JSON, from what the parser's exception says:
// "[json.exception.parse_error.101] parse error at line 1, column 2: …" → "line 1, column 2: …".
// The rest names the library's types.
[[nodiscard]] std::string JsonProblem(std::string_view thrown);

}  // namespace reprise
