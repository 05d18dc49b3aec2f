// Strings in traces are UTF-8 (protobuf insists, JSON too). Only et_schema sees this.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

[[nodiscard]] bool IsValidUtf8(std::string_view text);
// Every invalid byte becomes U+FFFD.
[[nodiscard]] std::string ReplaceInvalidUtf8(std::string_view text);
void AppendUtf8(char32_t code_point, std::string& out);

}  // namespace reprise
