// Where the calls of an operator have their arguments: `arguments` of its row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace reprise {

// Words separated by spaces: `q=1`: argument 1 is q; `c=2?1`: argument 2 is c, and 1 where it is
// absent or None (`inf`, `most`: infinity, the largest finite double; with a sign); `op=add`: a
// word; `adaptive`: a mark. A key may stand more than once. Text that is malformed does not
// compile.
class ArgumentPlaces {
 public:
  constexpr ArgumentPlaces() = default;
  // Implicit, so that a row can say `.arguments = "a=0 b=1"`.
  consteval ArgumentPlaces(const char* text) : text_(text) {  // NOLINT(google-explicit-constructor)
    if (text_.size() > std::numeric_limits<std::uint8_t>::max()) {
      throw "arguments: more than 255 characters";
    }
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find(' ', begin), text_.size());
      places_.at(count_++) = Parse(begin, end);
      begin = end + 1;
    }
  }

  // Of the operator's row; of an in-place operator without any, those of the operator without the
  // underscore. None where the operator has no row. Valid as long as the program runs.
  [[nodiscard]] static const ArgumentPlaces& Of(std::string_view op);

  [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
  // There is such a key, with or without a place.
  [[nodiscard]] bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // The place of the key; -1 if it has none.
  [[nodiscard]] int At(std::string_view key) const;
  [[nodiscard]] std::vector<int> All(std::string_view key) const;
  // What the key stands for where the argument is absent; nothing: the argument is required.
  [[nodiscard]] std::optional<double> Default(std::string_view key) const;
  // What follows the key's `=`; empty if there is no such key.
  [[nodiscard]] std::string_view Word(std::string_view key) const;

  // The argument if it is a defined tensor; nullptr otherwise.
  [[nodiscard]] const TensorDesc* Tensor(const OpCall& call, std::string_view key) const;
  // The argument if it is a number; `absent` otherwise.
  [[nodiscard]] double Number(const OpCall& call, std::string_view key, double absent) const;
  // The argument if it is a list of integers, or one; empty otherwise.
  [[nodiscard]] std::vector<std::int64_t> Ints(const OpCall& call, std::string_view key) const;

 private:
  struct Place {
    std::uint8_t begin = 0, equals = 0, end = 0;  // in the text; no `=`: `equals` is `end`
    std::int8_t at = -1;
    bool has_default = false;
    double absent = 0;
  };
  static constexpr std::size_t kMostPlaces = 14;

  static constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  consteval Place Parse(std::size_t begin, std::size_t end) const;
  static consteval double ParseNumber(std::string_view text);
  [[nodiscard]] std::string_view KeyOf(const Place& place) const {
    return text_.substr(place.begin, place.equals - place.begin);
  }
  [[nodiscard]] const Place* Find(std::string_view key) const;

  std::string_view text_;  // a literal's
  std::size_t count_ = 0;
  std::array<Place, kMostPlaces> places_ = {};
};

consteval ArgumentPlaces::Place ArgumentPlaces::Parse(std::size_t begin, std::size_t end) const {
  const std::string_view word = text_.substr(begin, end - begin);
  const std::size_t equals = std::min(word.find('='), word.size());
  if (equals == 0 || equals + 1 == word.size()) {
    throw "arguments: a word without a key, or nothing after its `=`";
  }
  Place place{.begin = static_cast<std::uint8_t>(begin),
              .equals = static_cast<std::uint8_t>(begin + equals),
              .end = static_cast<std::uint8_t>(end)};
  if (equals == word.size() || !IsDigit(word[equals + 1])) {
    return place;
  }
  const std::size_t ask = std::min(word.find('?'), word.size());
  place.at = static_cast<std::int8_t>(ParseNumber(word.substr(equals + 1, ask - equals - 1)));
  if (ask < word.size()) {
    place.has_default = true;
    place.absent = ParseNumber(word.substr(ask + 1));
  }
  return place;
}

consteval double ArgumentPlaces::ParseNumber(std::string_view text) {
  if (text.starts_with('-')) {
    return -ParseNumber(text.substr(1));
  }
  if (text == "inf") {
    return std::numeric_limits<double>::infinity();
  }
  if (text == "most") {
    return std::numeric_limits<double>::max();
  }
  if (text.empty()) {
    throw "arguments: a number is missing";
  }
  double digits = 0;  // exact below 2^53, so the quotient is the nearest double
  double scale = 0;
  for (const char c : text) {
    if (c == '.' && scale == 0) {
      scale = 1;
    } else if (IsDigit(c)) {
      digits = digits * 10 + (c - '0');
      scale *= 10;
    } else {
      throw "arguments: not a number";
    }
  }
  return scale == 0 ? digits : digits / scale;
}

}  // namespace reprise
