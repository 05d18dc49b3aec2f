// Small questions about text that several folders ask.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace reprise {

// ASCII, whatever the locale.
[[nodiscard]] constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Digits alone, at least one.
[[nodiscard]] constexpr bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}
// The whole text as a number. Nothing if it is no number or beyond the range of T.
template <typename T>
[[nodiscard]] std::optional<T> ParseNumber(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && at == end ? std::optional(number) : std::nullopt;
}

// ASCII letters only.
[[nodiscard]] inline std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// Numbers that follow each other as a range: "0-3,6".
template <typename Numbers>
[[nodiscard]] std::string NumbersText(const Numbers& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const auto first = *at;
    auto last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) {
      last = *at;
    }
    text += (text.empty() ? "" : ",") + std::to_string(first);
    text += last > first ? "-" + std::to_string(last) : "";
  }
  return text;
}

// Between single quotes, with `quote` in place of each single quote in it: '\'' in bash, '' in SQL.
[[nodiscard]] inline std::string SingleQuoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? quote : std::string_view(&c, 1);
  }
  return out + "'";
}

// What JSON takes for a blank.
[[nodiscard]] constexpr bool IsJsonSpace(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
// The parts between separators, empty ones too; never an empty list. Views into `text`.
[[nodiscard]] inline std::vector<std::string_view> SplitText(std::string_view text,
                                                             char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace reprise
