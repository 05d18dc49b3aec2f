// The shapes of a call's tensors as one number, the same from either file.
#pragma once

#include <cstdint>

namespace reprise::pytorch {

class ShapeHash {
 public:
  // The next tensor. One without dimensions (or another argument) leaves no trace.
  void Begin() { mark_ = kBase; }
  void Add(std::int64_t size) {
    hash_ = (hash_ ^ (static_cast<std::uint64_t>(size) + mark_)) * kPrime;
    mark_ = 0;
  }
  // 0 if nothing was added.
  [[nodiscard]] std::uint32_t Get() const {
    const auto folded = static_cast<std::uint32_t>(hash_ ^ (hash_ >> 32U));
    return hash_ == kBase ? 0 : folded == 0 ? 1 : folded;
  }

 private:
  static constexpr std::uint64_t kBase = 0xCBF29CE484222325, kPrime = 0x100000001B3;
  std::uint64_t hash_ = kBase, mark_ = 0;
};

}  // namespace reprise::pytorch
