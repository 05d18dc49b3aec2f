// A hardware counter's growth since its first reading, with wraps undone.
#pragma once

#include <cstdint>
#include <optional>

namespace reprise {

class RunningTotal {
 public:
  // `range`: the counter goes from range to 0. 0: unknown, then only a step from the last to the
  // first sixteenth of 32 bits is a wrap. Any other step back is a reset: what was lost is not made
  // up.
  explicit RunningTotal(std::uint64_t range = 0) : range_(range) {}

  // The growth so far, with `now` the latest reading.
  std::uint64_t Update(std::uint64_t now) {
    if (last_) {
      total_ += now >= *last_ ? now - *last_ : Wrapped(now);
    }
    last_ = now;
    return total_;
  }

 private:
  [[nodiscard]] std::uint64_t Wrapped(std::uint64_t now) const {
    constexpr std::uint64_t k32Bits = 1ULL << 32;
    if (range_ > 0) {
      return *last_ <= range_ ? range_ - *last_ + now : 0;
    }
    const bool wrapped = *last_ < k32Bits && *last_ >= k32Bits - k32Bits / 16 && now < k32Bits / 16;
    return wrapped ? k32Bits - *last_ + now : 0;
  }

  std::uint64_t range_;
  std::optional<std::uint64_t> last_;
  std::uint64_t total_ = 0;
};

}  // namespace reprise
