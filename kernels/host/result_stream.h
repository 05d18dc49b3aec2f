// Results too large to be found in a cache afterwards are stored past it: a line that is written
// whole need not be read first, which is a third of a copy's traffic.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

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
  // memcpy.
  void Copy(void* to, const void* from, std::int64_t bytes) const;

  // Has body(first, y, count) write elements first … first + count - 1 of `to` to y: all at once in
  // place, or by blocks on their way.
  template <typename Body>
  void Write(float* to, std::int64_t n, const Body& body) const {
    if (!streams_) {
      body(std::int64_t{0}, to, n);
      return;
    }
    std::array<float, 1024> block;
    for (std::int64_t at = 0; at < n; at += std::ssize(block)) {
      const std::int64_t count = std::min<std::int64_t>(std::ssize(block), n - at);
      body(at, block.data(), count);
      Copy(to + at, block.data(), count * static_cast<std::int64_t>(sizeof(float)));
    }
  }

 private:
  bool streams_;
};

}  // namespace reprise
