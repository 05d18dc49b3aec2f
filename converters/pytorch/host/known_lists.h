// What was read of argument lists, for the same text to be known again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/plain_json.h"

namespace reprise::pytorch {

// Shapes, types and strides of an argument list, as the text that follows its values: a step does
// the same on the same shapes again and again, and what was read once need not be read again.
class KnownLists {
 public:
  struct Lists {
    std::string text;
    PlainJson::Tape tape;  // strings point into the text
    PlainElement shapes, types, strides;
  };
  // nullptr: not known.
  [[nodiscard]] const Lists* Find(std::string_view text) const;
  // `tape` was read from `text`, and has the lists at these places, or kAbsent.
  void Add(std::string_view text, std::span<const PlainEntry> tape,
           const std::array<std::size_t, 3>& places);

  static constexpr std::size_t kLongest = 1024;
  static constexpr std::size_t kAbsent = SIZE_MAX;

 private:
  static constexpr int kPlaceBits = 10;
  static std::size_t PlaceOf(std::string_view text);
  std::vector<Lists> lists_ = std::vector<Lists>(std::size_t{1} << kPlaceBits);
};

}  // namespace reprise::pytorch
