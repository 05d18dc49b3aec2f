// UTF-8: strings of traces are (protobuf insists, JSON too), and what consoles show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprise {

// Bytes of the valid sequence that `text` (not empty) begins with; 0: none.
[[nodiscard]] std::size_t Utf8Length(std::string_view text);
[[nodiscard]] bool IsValidUtf8(std::string_view text);
// Every invalid byte becomes U+FFFD.
[[nodiscard]] std::string ReplaceInvalidUtf8(std::string_view text);
void AppendUtf8(char32_t code_point, std::string& out);

}  // namespace reprise
