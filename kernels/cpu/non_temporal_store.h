// Non-temporal stores of results that are too large for the caches: a line that is written whole
// need not be read first, which is a third of a copy's traffic.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

#include "kernels/cpu/processor.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

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

  [[nodiscard]] bool non_temporal() const { return non_temporal_; }

  // Where the loop will read soon, of each operand: prefetched line by line as the result is
  // stored. Without this the memory would either read or write, never both. The addresses need not
  // be valid. Measurements found 4 KiB far enough ahead.
  using Ahead = std::span<const void* const>;
  static constexpr std::int64_t kAheadFloats = 1024;

  // memcpy; `ahead` is prefetched if stores are non-temporal.
  void Copy(void* to, const void* from, std::int64_t bytes, Ahead ahead = {}) const;

  // Elements of a block in Write: few enough that a core reads and writes at the same time, enough
  // to be worth a call.
  static constexpr std::int64_t kBlock = 256;

  static constexpr std::int64_t kLineFloats = 16;
  [[nodiscard]] static std::int64_t FloatsIntoLine(const float* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % kLineBytes /
                                     sizeof(float));
  }
  // How many of the n floats at `at` come before the first line that begins among them.
  [[nodiscard]] static std::int64_t FloatsToLine(const float* at, std::int64_t n) {
    const std::int64_t into = FloatsIntoLine(at);
    return into == 0 ? 0 : std::min(n, kLineFloats - into);
  }
  // kLineFloats floats; both begin a line. `kOn`: the instruction set of the calling function.
  template <Processor kOn>
  [[gnu::always_inline]] void StoreLine(float* to, const float* from) const {
    if (non_temporal_) {
      StoreNonTemporal<kOn>(to, from);
    } else {
      std::memcpy(to, from, kLineBytes);
    }
  }
  // The same, always by non-temporal stores; `from` may begin anywhere.
  template <Processor kOn>
  [[gnu::always_inline]] static void StoreNonTemporal(void* to, const void* from) {
#if defined(__SSE2__)
    if constexpr (kOn == Processor::kV4) {
      StoreWide(to, from);
    } else if constexpr (kOn == Processor::kV3) {
      StoreHalves(to, from);
    } else {
      for (std::size_t k = 0; k < kLineBytes / sizeof(__m128i); ++k) {
        _mm_stream_si128(static_cast<__m128i*>(to) + k,
                         _mm_loadu_si128(static_cast<const __m128i*>(from) + k));
      }
    }
#else
    std::memcpy(to, from, kLineBytes);
#endif
  }

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
  static constexpr std::size_t kLineBytes = 64;
#if defined(__SSE2__)
  // One store takes one slot of the store buffer; four would take four.
  [[gnu::target("avx512f")]] static void StoreWide(void* to, const void* from) {
    _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_loadu_si512(from));
  }
  [[gnu::target("avx2")]] static void StoreHalves(void* to, const void* from) {
    auto* half = static_cast<__m256i*>(to);
    const auto* own = static_cast<const __m256i*>(from);
    _mm256_stream_si256(half, _mm256_loadu_si256(own));
    _mm256_stream_si256(half + 1, _mm256_loadu_si256(own + 1));
  }
#endif
  bool non_temporal_;
};

}  // namespace reprise
