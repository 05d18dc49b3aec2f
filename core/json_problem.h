// What is wrong with a text that is no JSON, from what the parser's exception says.
#pragma once

#include <string>
#include <string_view>

#include "core/shown_text.h"

namespace reprise {

// "[json.exception.parse_error.101] parse error at line 1, column 2: …" → "line 1, column 2: …":
// the rest names the library's types.
[[nodiscard]] inline std::string JsonProblem(std::string_view thrown) {
  for (const std::string_view before :
       {std::string_view("] "), std::string_view("parse error at ")}) {
    if (const std::size_t at = thrown.find(before); at != std::string_view::npos) {
      thrown.remove_prefix(at + before.size());
    }
  }
  return ShownText(std::string(thrown));
}

}  // namespace reprise
