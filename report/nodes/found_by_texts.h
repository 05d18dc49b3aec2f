// What was found for nodes with the same texts, without comparing the texts again: most nodes of a
// rank that is read from its file share them. Only report/ sees this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/shared_text.h"

namespace reprise {

// Of one rank, whose texts stay while this is used.
template <typename Found>
class FoundByTexts {
 public:
  // What `find` returned for copies of these texts and this number; calls it where that is not
  // known.
  template <typename Find>
  [[nodiscard]] Found& Of(const SharedText& a, const SharedText& b, std::uint32_t number,
                          const Find& find) {
    const void* const first = a.identity();
    const void* const second = b.identity();
    Place& place = places_[(Bits(first) + 3 * Bits(second) + number) % places_.size()];
    if (place.found == nullptr || place.first != first || place.second != second ||
        place.number != number) {
      place = {first, second, number, &find()};
    }
    return *place.found;
  }

 private:
  struct Place {
    const void* first = nullptr;
    const void* second = nullptr;
    std::uint32_t number = 0;
    Found* found = nullptr;
  };
  // Addresses are multiples of 16.
  static std::size_t Bits(const void* of) { return reinterpret_cast<std::uintptr_t>(of) >> 4U; }

  std::array<Place, 1021> places_{};
};

}  // namespace reprise
