// Results too large to be found in a cache afterwards are stored past it: a line that is written
// whole need not be read first, which is a third of a copy's traffic.
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

// One for each part of the work that writes a result, for as long as the part takes: what it stored
// is visible to other threads once it is gone.
class ResultStream {
 public:
  // Streams if the whole result is larger than the second caches of this process' cores.
  explicit ResultStream(std::int64_t result_bytes);
  ~ResultStream();
  ResultStream(const ResultStream&) = delete;
  ResultStream& operator=(const ResultStream&) = delete;

  [[nodiscard]] bool streams() const { return streams_; }

  // Where reading will have come to soon, of each operand: fetched into the caches line by line as
  // the result is stored, else the memory would be idle in turn, now its reading half, now its
  // writing half. Need not be memory of anybody's. Far enough ahead, measured, is some 4 KiB.
  using Ahead = std::span<const void* const>;
  static constexpr std::int64_t kAheadFloats = 1024;

  // memcpy; `ahead` is fetched if this streams.
  void Copy(void* to, const void* from, std::int64_t bytes, Ahead ahead = {}) const;

  // Elements of a block that is written on its way: so few that a core reads and writes at the same
  // time, enough to be worth a call.
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
  // kLineFloats floats; both begin a line. `kOn`: what the calling function is compiled for.
  template <Processor kOn>
  [[gnu::always_inline]] void StoreLine(float* to, const float* from) const {
    if (streams_) {
      StreamLine<kOn>(to, from);
    } else {
      std::memcpy(to, from, kLineBytes);
    }
  }
  // The same, always by non-temporal stores; `from` may begin anywhere.
  template <Processor kOn>
  [[gnu::always_inline]] static void StreamLine(void* to, const void* from) {
#if defined(__SSE2__)
    if constexpr (kOn == Processor::kV4) {
      StreamWideLine(to, from);
    } else if constexpr (kOn == Processor::kV3) {
      StreamHalves(to, from);
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

  // Has body(first, y, count) write elements first … first + count - 1 of `to` to y: all at once in
  // place, or by blocks of up to kBlock on their way.
  template <typename Body>
  void Write(float* to, std::int64_t n, std::initializer_list<const float*> ahead,
             const Body& body) const {
    if (!streams_) {
      body(std::int64_t{0}, to, n);
      return;
    }
    alignas(kLineBytes) std::array<float, kBlock> block;
    std::array<const void*, 3> fetch{};
    std::int64_t room = std::ssize(block) - FloatsIntoLine(to);  // so that the others begin lines
    for (std::int64_t at = 0; at < n; room = std::ssize(block)) {
      const std::int64_t count = std::min(room, n - at);
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
  // One store: it takes one place in the queue of stores, where four would take four.
  [[gnu::target("avx512f")]] static void StreamWideLine(void* to, const void* from) {
    _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_loadu_si512(from));
  }
  [[gnu::target("avx2")]] static void StreamHalves(void* to, const void* from) {
    auto* half = static_cast<__m256i*>(to);
    const auto* own = static_cast<const __m256i*>(from);
    _mm256_stream_si256(half, _mm256_loadu_si256(own));
    _mm256_stream_si256(half + 1, _mm256_loadu_si256(own + 1));
  }
#endif
  bool streams_;
};

}  // namespace reprise
