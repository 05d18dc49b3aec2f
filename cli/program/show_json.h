// JSON on stdout: what others wrote reaches a console as escapes.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace reprise {

// A JSON text with the same meaning: characters of its strings that control a console, or that
// reorder or hide text (core/shown_text.h), become \u escapes.
[[nodiscard]] std::string ShownJson(std::string_view json);

// With a line end. Bytes that are not UTF-8 become U+FFFD.
template <typename Json>
void ShowJson(const Json& json, int indent) {
  fmt::print("{}\n", ShownJson(json.dump(indent, ' ', false, Json::error_handler_t::replace)));
}

}  // namespace reprise
