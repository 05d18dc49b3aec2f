// Non-temporal stores of results that are too large for the caches: a line that is written whole
// need not be read first, which is a third of a copy's traffic.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace reprise {

// Each chunk of a parallel-for that writes a result has its own. Its destructor makes the stored
// values visible to other threads.
class NonTemporalStore {
 public:
  // Stores are non-temporal if the whole result is larger than the L2 caches of this process'
  // cores.
  explicit NonTemporalStore(std::int64_t result_bytes);
  ~NonTemporalStore();
  NonTemporalStore(const NonTemporalStore&) = delete;
  NonTemporalStore& operator=(const NonTemporalStore&) = delete;

  static constexpr std::int64_t kLineBytes = 64;

  [[nodiscard]] bool non_temporal() const { return non_temporal_; }

  // Where the loop will read soon, of each operand: prefetched line by line as the result is
  // stored. Without this the memory would either read or write, never both. The addresses need not
  // be valid. Measurements found 4 KiB far enough ahead.
  using Ahead = std::span<const void* const>;
  static constexpr std::int64_t kAheadFloats = 1024;
  // In a loop over rows of n, which has read the row itself before it writes: the next row, or
  // more.
  [[nodiscard]] static constexpr std::int64_t AheadOfRow(std::int64_t n) {
    return std::max(n, kAheadFloats);
  }

  // memcpy; `ahead` is prefetched if stores are non-temporal.
  void Copy(void* to, const void* from, std::int64_t bytes, Ahead ahead = {}) const;

  // Elements of a block in Write: few enough that a core reads and writes at the same time, enough
  // to be worth a call.
  static constexpr std::int64_t kBlock = 256;

  // Calls body(first, y, count), which writes elements first … first + count - 1 of `to` to y: all
  // at once in place, or by blocks of up to kBlock, which are then stored non-temporally.
  template <typename Body>
  void Write(float* to, std::int64_t n, std::initializer_list<const float*> ahead,
             const Body& body) const {
    if (!non_temporal_) {
      body(std::int64_t{0}, to, n);
      return;
    }
    alignas(kLineBytes) std::array<float, kBlock> block;
    std::array<const void*, 3> fetch{};
    std::int64_t limit = std::ssize(block) - FloatsIntoLine(to);  // later blocks begin lines
    for (std::int64_t at = 0; at < n; limit = std::ssize(block)) {
      const std::int64_t count = std::min(limit, n - at);
      body(at, block.data(), count);
      std::transform(ahead.begin(), ahead.end(), fetch.begin(),
                     [&](const float* x) { return x + at; });
      Copy(to + at, block.data(), count * static_cast<std::int64_t>(sizeof(float)),
           Ahead(fetch).first(ahead.size()));
      at += count;
    }
  }

 private:
  [[nodiscard]] static std::int64_t FloatsIntoLine(const float* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % kLineBytes) /
           std::int64_t{sizeof(float)};
  }
  bool non_temporal_;
};

}  // namespace reprise
