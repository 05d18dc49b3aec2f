#include "cli/program/show_json.h"

#include <algorithm>
#include <cstdint>

#include "core/shown_text.h"
#include "core/utf8.h"

namespace reprise {
namespace {

// "\u202e"; beyond U+FFFF as a pair.
std::string JsonEscape(std::string_view character) {
  std::uint32_t code = static_cast<std::uint8_t>(character[0]);
  code = character.size() < 2 ? code : code & (0xffU >> (character.size() + 1));
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<std::uint8_t>(byte) & 0x3fU);
  }
  if (code < 0x10000) {
    return fmt::format("\\u{:04x}", code);
  }
  code -= 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

}  // namespace

std::string ShownJson(std::string_view json) {
  constexpr char kDelete = '\x7f';
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    // Below 0x7f JSON has its own escapes, and line ends between values.
    const auto plain = static_cast<std::size_t>(
        std::find_if(json.begin(), json.end(), [](char c) { return c < 0 || c == kDelete; }) -
        json.begin());
    out += json.substr(0, plain);
    json.remove_prefix(plain);
    if (json.empty()) {
      break;
    }
    const std::string_view character = json.substr(0, std::max<std::size_t>(1, Utf8Length(json)));
    out += ShownText(character) == character ? std::string(character) : JsonEscape(character);
    json.remove_prefix(character.size());
  }
  return out;
}

}  // namespace reprise
