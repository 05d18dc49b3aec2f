// Binary arithmetic coding with adaptive probabilities: integers only, so that every machine makes
// and reads the same bytes. Only et_schema/columns sees this.
//
// The three coders have the same two functions, so that one description of a number
// (number_model.h) writes it, reads it and measures it, and the three can't differ:
//   bool Code(AdaptiveBit&, bool bit)   the bit; a decoder ignores its argument
//   bool CodeEven(bool bit)             a bit of which nothing is known
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprise::columns {

// The probability of a 1, in 65536ths. It moves by 1/(n + 1.5) of the way after n bits: fast at
// first, as columns may be short, and never slower than kSlowest.
class AdaptiveBit {
 public:
  [[nodiscard]] std::uint32_t one() const { return one_; }
  void Learn(bool bit) {
    constexpr std::int32_t kMin = 48;  // a certain bit still costs 0.001 of one
    constexpr std::int32_t kWhole = 1 << 16;
    const std::int32_t goal = bit ? kWhole - kMin : kMin;
    one_ = static_cast<std::uint16_t>(one_ + (goal - one_) * 2 / (2 * seen_ + 3));
    seen_ += seen_ < kSlowest ? 1 : 0;
  }

 private:
  static constexpr std::int32_t kSlowest = 80;
  std::uint16_t one_ = 1 << 15;
  std::uint16_t seen_ = 0;
};

// The interval [low, high] shrinks with every bit; equal leading bytes leave.
inline std::uint32_t Split(std::uint32_t low, std::uint32_t high, std::uint32_t one) {
  return low + static_cast<std::uint32_t>((std::uint64_t{high - low} * one) >> 16);
}
inline constexpr std::uint32_t kEven = 1 << 15;

class Encoder {
 public:
  static constexpr bool kDecodes = false;
  explicit Encoder(std::string& out) : out_(out) {}
  bool Code(AdaptiveBit& model, bool bit) {
    Put(model.one(), bit);
    model.Learn(bit);
    return bit;
  }
  bool CodeEven(bool bit) {
    Put(kEven, bit);
    return bit;
  }
  // Once, at the end: four bytes that a decoder has read by then.
  void Finish() {
    for (int i = 0; i < 4; ++i) {
      out_.push_back(static_cast<char>(low_ >> 24));
      low_ <<= 8;
    }
  }

 private:
  void Put(std::uint32_t one, bool bit) {
    const std::uint32_t middle = Split(low_, high_, one);
    (bit ? high_ : low_) = bit ? middle : middle + 1;
    while (((low_ ^ high_) >> 24) == 0) {
      out_.push_back(static_cast<char>(high_ >> 24));
      low_ <<= 8;
      high_ = high_ << 8 | 0xff;
    }
  }
  std::string& out_;
  std::uint32_t low_ = 0, high_ = UINT32_MAX;
};

// Reads any bytes: what is missing counts as zeros, and `exact` is false then.
class Decoder {
 public:
  static constexpr bool kDecodes = true;
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) {
      Shift();
    }
  }
  bool Code(AdaptiveBit& model, bool /*bit*/) {
    const bool bit = Get(model.one());
    model.Learn(bit);
    return bit;
  }
  bool CodeEven(bool /*bit*/) { return Get(kEven); }
  // Whether all bytes were used, and no more than there are: true at the end of what Encoder wrote.
  [[nodiscard]] bool exact() const { return at_ == bytes_.size(); }
  // Whether more was read than there is.
  [[nodiscard]] bool starved() const { return at_ > bytes_.size(); }

 private:
  bool Get(std::uint32_t one) {
    const std::uint32_t middle = Split(low_, high_, one);
    const bool bit = code_ <= middle;
    (bit ? high_ : low_) = bit ? middle : middle + 1;
    while (((low_ ^ high_) >> 24) == 0) {
      low_ <<= 8;
      high_ = high_ << 8 | 0xff;
      Shift();
    }
    return bit;
  }
  void Shift() {
    const auto byte = at_ < bytes_.size() ? static_cast<std::uint8_t>(bytes_[at_]) : 0;
    code_ = code_ << 8 | byte;
    ++at_;
  }
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::uint32_t low_ = 0, high_ = UINT32_MAX, code_ = 0;
};

// How many bits Encoder would write, in 65536ths: integers, so that every machine chooses alike.
class Cost {
 public:
  static constexpr bool kDecodes = false;
  static constexpr std::uint64_t kBit = 1 << 16;
  bool Code(AdaptiveBit& model, bool bit) {
    cost_ += Of(bit ? model.one() : (1 << 16) - model.one());
    model.Learn(bit);
    return bit;
  }
  bool CodeEven(bool bit) {
    cost_ += kBit;
    return bit;
  }
  [[nodiscard]] std::uint64_t cost() const { return cost_; }

 private:
  static std::uint64_t Of(std::uint32_t probability) {
    static const auto costs = [] {
      constexpr double kSteps = 4096;
      std::array<std::uint32_t, 4097> table{};
      for (std::size_t i = 0; i < table.size(); ++i) {
        table[i] = static_cast<std::uint32_t>(
            std::lround(kBit * -std::log2((static_cast<double>(i) + 0.5) / (kSteps + 1))));
      }
      return table;
    }();
    return costs[probability >> 4];
  }
  std::uint64_t cost_ = 0;
};

}  // namespace reprise::columns
