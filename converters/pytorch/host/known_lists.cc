#include "converters/pytorch/host/known_lists.h"

#include <cstring>

namespace reprise::pytorch {

std::size_t KnownLists::PlaceOf(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
  std::uint64_t hash = text.size();
  std::uint64_t word = 0;
  for (; text.size() >= sizeof(word); text.remove_prefix(sizeof(word))) {
    std::memcpy(&word, text.data(), sizeof(word));
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  return ((hash ^ word) * kOdd) >> (64 - kPlaceBits);
}

const KnownLists::Lists* KnownLists::Find(std::string_view text) const {
  if (text.empty()) {
    return nullptr;
  }
  const Lists& lists = lists_[PlaceOf(text)];
  return lists.text == text ? &lists : nullptr;
}

void KnownLists::Add(std::string_view text, std::span<const PlainEntry> tape,
                     const std::array<std::size_t, 3>& places) {
  Lists& lists = lists_[PlaceOf(text)];
  lists.tape.assign(tape.begin(), tape.end());
  lists.text = text;
  for (PlainEntry& entry : lists.tape) {
    if (entry.kind == PlainEntry::Kind::kString) {
      if (entry.text < text.data() || entry.text > text.data() + text.size()) {
        lists.text.clear();  // it had escapes
        return;
      }
      entry.text = lists.text.data() + (entry.text - text.data());
    }
  }
  const auto list = [&](std::size_t place) {
    return place == kAbsent ? PlainElement() : PlainElement(&lists.tape[place]);
  };
  lists.shapes = list(places[0]);
  lists.types = list(places[1]);
  lists.strides = list(places[2]);
}

}  // namespace reprise::pytorch
