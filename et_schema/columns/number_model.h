// How one number after the other is coded (docs/package_format.md, "Numbers"). Only
// et_schema/columns sees this.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "et_schema/columns/arithmetic_coder.h"

namespace reprise::columns {

[[nodiscard]] inline std::uint64_t Mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ std::rotl(b, 29)) * 0x9e3779b97f4a7c15;
  x ^= x >> 32;
  return x * 0xd6e8feb86659fd93;
}

// Learns a sequence of numbers: what followed the last two, what there was last in the same
// context, else how long numbers are and their leading bits. Memory grows with `count`, up to 4 MB.
class NumberModel {
 public:
  explicit NumberModel(std::size_t count)
      : table_bits_(
            std::clamp(static_cast<int>(std::bit_width(count)), kMinTableBits, kMaxTableBits)),
        followers_(std::size_t{1} << table_bits_),
        latest_(std::size_t{1} << table_bits_),
        lengths_(kLengths * kLengthNodes),
        leading_(kLengths * kLeadingNodes * kHints) {}

  template <typename Coder>
  std::uint64_t Code(Coder& coder, std::uint64_t value, std::uint64_t context) {
    Guess& follower = followers_[Slot(Mix(Mix(context, last_), before_last_))];
    Guess& latest = latest_[Slot(Mix(context, 1))];
    const std::uint64_t hint = latest.value;
    if (coder.Code(is_follower_[follower.right], value == follower.value)) {
      value = follower.value;
    } else if (latest.value != follower.value &&
               coder.Code(is_latest_[latest.right], value == latest.value)) {
      value = latest.value;
    } else {
      value = CodeNew(coder, value, hint);
    }
    follower.Learn(value);
    latest.Learn(value);
    before_last_ = last_;
    last_ = value;
    return value;
  }

 private:
  // A number that was right so many times in a row.
  struct Guess {
    static constexpr std::uint32_t kMaxRight = 15;
    std::uint64_t value = 0;
    std::uint32_t right = 0;
    void Learn(std::uint64_t truth) {
      right = truth == value ? std::min(right + 1, kMaxRight) : 0;
      value = truth;
    }
  };
  static constexpr int kMinTableBits = 4, kMaxTableBits = 16;
  static constexpr std::size_t kLengths = 65, kLengthNodes = 128;
  static constexpr int kLeadingBits = 7;
  static constexpr std::size_t kLeadingNodes = std::size_t{1} << kLeadingBits, kHints = 3;

  [[nodiscard]] std::size_t Slot(std::uint64_t hash) const { return hash >> (64 - table_bits_); }

  // The length in bits, knowing the length of `hint`; then what follows the leading 1, knowing the
  // length, the bits before and, as long as they agree with the hint's, the hint's next one.
  template <typename Coder>
  std::uint64_t CodeNew(Coder& coder, std::uint64_t value, std::uint64_t hint) {
    const auto hint_length = static_cast<std::size_t>(std::bit_width(hint));
    AdaptiveBit* lengths = &lengths_[hint_length * kLengthNodes];
    std::size_t node = 1;
    const auto length_in = static_cast<std::size_t>(std::bit_width(value));
    for (int bit = 6; bit >= 0; --bit) {
      node = 2 * node + (coder.Code(lengths[node], (length_in >> bit & 1) != 0) ? 1 : 0);
    }
    const std::size_t length = std::min(node - kLengthNodes, kLengths - 1);
    if (length < 2) {
      return length;
    }
    AdaptiveBit* leading = &leading_[length * kLeadingNodes * kHints];
    bool as_hint = length == hint_length;
    std::uint64_t result = 1;
    node = 1;
    for (int bit = static_cast<int>(length) - 2; bit >= 0; --bit) {
      const bool bit_in = (value >> bit & 1) != 0;
      bool bit_out = false;
      if (node < kLeadingNodes) {
        const bool hinted = (hint >> bit & 1) != 0;
        const std::size_t known = as_hint ? 1 + (hinted ? 1 : 0) : 0;
        bit_out = coder.Code(leading[node * kHints + known], bit_in);
        as_hint = as_hint && bit_out == hinted;
        node = 2 * node + (bit_out ? 1 : 0);
      } else {
        bit_out = coder.CodeEven(bit_in);
      }
      result = result << 1 | (bit_out ? 1 : 0);
    }
    return result;
  }

  int table_bits_;
  std::vector<Guess> followers_, latest_;
  std::vector<AdaptiveBit> lengths_, leading_;
  std::array<AdaptiveBit, Guess::kMaxRight + 1> is_follower_{}, is_latest_{};
  std::uint64_t last_ = 0, before_last_ = 0;
};

}  // namespace reprise::columns
