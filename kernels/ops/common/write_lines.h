// Stores a result line by line as it is computed, so that memory writes one line while the next is
// computed.
#pragma once

#include <array>

#include "kernels/cpu/non_temporal_store.h"
#include "kernels/cpu/processor.h"
#include "kernels/ops/common/lanes.h"

namespace reprise::loops {

// The line at `to`: of(k) is its elements from k on, as many as a register holds; inlined into the
// copy for a processor (processor.h).
template <Processor kOn, typename Of>
[[gnu::always_inline]] inline void WriteLine(const NonTemporalStore& store, float* to,
                                             const Of& of) {
  alignas(64) float line[NonTemporalStore::kLineFloats];
  for (std::int64_t k = 0; k < NonTemporalStore::kLineFloats; k += kLanes<kOn>) {
    StoreLanes(line + k, of(k));
  }
  store.StoreLine<kOn>(to, line);
}

// y[i] = of(load, i) for i in [0, n), load(x, i) being x[i], or as many from there on as fit; it is
// inlined into the copy for a processor (processor.h). What is `ahead` elements further on in the
// operands is prefetched: into the L2 cache if that is far, since L1 is too small.
// (Inline, because GCC removes a function that only prefetches.)
template <Processor kOn, std::size_t kOperands, typename Of>
[[gnu::always_inline]] inline void WriteLines(const NonTemporalStore& store, float* y,
                                              std::int64_t n,
                                              const std::array<const float*, kOperands>& operands,
                                              std::int64_t ahead, const Of& of) {
  constexpr std::int64_t kLine = NonTemporalStore::kLineFloats;
  const bool far = ahead > NonTemporalStore::kAheadFloats;
  const auto one = [](const float* x, std::int64_t i) REPRISE_INLINE { return x[i]; };
  const auto many = [](const float* x, std::int64_t i)
                        REPRISE_INLINE { return LoadLanes<kOn>(x + i); };
  const std::int64_t head = NonTemporalStore::FloatsToLine(y, n);
  std::int64_t i = 0;
  for (; i < head; ++i) {
    y[i] = of(one, i);
  }
  for (; i + kLine <= n; i += kLine) {
    for (const float* operand : operands) {
      if (far) {
        __builtin_prefetch(operand + ahead + i, 0, 2);
      } else {
        __builtin_prefetch(operand + ahead + i);
      }
    }
    WriteLine<kOn>(store, y + i, [=](std::int64_t k) REPRISE_INLINE { return of(many, i + k); });
  }
  for (; i < n; ++i) {
    y[i] = of(one, i);
  }
}

}  // namespace reprise::loops
