#include "core/shown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/utf8.h"

namespace reprise {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with valid UTF-8
};

CodePoint FirstCodePoint(std::string_view text) {
  const std::size_t length = Utf8Length(text);
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint32_t value = length < 2 ? at(0) : at(0) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    value = value << 6 | (at(i) & 0x3fU);
  }
  return {value, length};
}

// Unicode 15: Bidi_Control, Default_Ignorable_Code_Point as far as they are no letters, separators.
bool Misleads(std::uint32_t c) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr std::array kRanges = {
      Range{0x00, 0x1f},     Range{0x7f, 0x9f},      Range{0xad, 0xad},     Range{0x61c, 0x61c},
      Range{0x115f, 0x1160}, Range{0x180e, 0x180e},  Range{0x200b, 0x200f}, Range{0x2028, 0x202e},
      Range{0x2060, 0x206f}, Range{0x3164, 0x3164},  Range{0xfeff, 0xfeff}, Range{0xffa0, 0xffa0},
      Range{0xfff0, 0xfffb}, Range{0xe0000, 0xe0fff}};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

std::string Escape(std::uint32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return c < 0x100 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{{{:x}}}", c);
  }
}

// A sequence of MakeStyle that the text begins with; 0: none.
std::size_t StyleLength(std::string_view text) {
  for (const std::string_view style : {"\x1b[1m", "\x1b[2m", "\x1b[0m"}) {
    if (text.starts_with(style)) {
      return style.size();
    }
  }
  return 0;
}

std::string Shown(std::string_view text, bool lines, bool styles) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
    return std::string(text);  // nearly all
  }
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (const std::size_t style = styles ? StyleLength(text) : 0; style > 0) {
      out += text.substr(0, style);
      text.remove_prefix(style);
      continue;
    }
    const CodePoint code = FirstCodePoint(text);
    if (code.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
    } else if (Misleads(code.value) && !(lines && code.value == '\n')) {
      out += Escape(code.value);
    } else {
      out += text.substr(0, code.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, code.bytes));
  }
  return out;
}

}  // namespace

std::string ShownText(std::string_view text) { return Shown(text, false, false); }

std::string ShownLines(std::string_view text) { return Shown(text, true, false); }

std::string ShownStyledLines(std::string_view text) { return Shown(text, true, true); }

std::string MarkdownText(std::string_view text) {
  std::string out;
  for (const char c : ShownText(text)) {
    if (std::string_view("\\`*_{}[]<>#|!").find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string CsvField(std::string_view text) {
  std::string field = ShownText(text);
  if (field.find_first_of("=+-@") == 0) {
    field.insert(field.begin(), '\'');
  }
  if (field.find_first_of("\",; ") == std::string::npos) {
    return field;
  }
  std::string out = "\"";
  for (const char c : field) {
    out += c;
    out += c == '"' ? "\"" : "";
  }
  return out + '"';
}

}  // namespace reprise
