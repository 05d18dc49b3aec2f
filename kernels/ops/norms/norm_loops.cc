#include "kernels/ops/norms/norm_loops.h"

#include <algorithm>

#include "kernels/cpu/processor.h"
#include "kernels/ops/common/write_lines.h"

namespace reprise::loops {
namespace {

template <Processor kOn>
[[gnu::always_inline]] inline void ScaledOn(const float* x, float scale, float shift, float* y,
                                            std::int64_t n, std::int64_t ahead,
                                            const NonTemporalStore& store) {
  WriteLines<kOn>(store, y, n, std::array{x}, ahead, [=](auto load, std::int64_t i) REPRISE_INLINE {
    return load(x, i) * scale + shift;
  });
}
REPRISE_BY_PROCESSOR(void, Scaled,
                     (const float* x, float scale, float shift, float* y, std::int64_t n,
                      std::int64_t ahead, const NonTemporalStore& store),
                     (x, scale, shift, y, n, ahead, store));

template <Processor kOn>
[[gnu::always_inline]] inline void NormalisedOn(const float* x, const Normal& of, const float* w,
                                                const float* b, float* y, std::int64_t n,
                                                std::int64_t ahead, const NonTemporalStore& store) {
  const Normal s = of;
  WriteLines<kOn>(store, y, n, std::array{x}, ahead, [=](auto load, std::int64_t i) REPRISE_INLINE {
    return (load(x, i) - s.mean) * s.rstd * load(w, i) + load(b, i);
  });
}
REPRISE_BY_PROCESSOR(void, Normalised,
                     (const float* x, const Normal& of, const float* w, const float* b, float* y,
                      std::int64_t n, std::int64_t ahead, const NonTemporalStore& store),
                     (x, of, w, b, y, n, ahead, store));

template <Processor kOn>
[[gnu::always_inline]] inline void ChannelOn(const float* g, const float* x,
                                             const ChannelGradient& of, float* dx, std::int64_t n,
                                             std::int64_t ahead, const NonTemporalStore& store) {
  const ChannelGradient s = of;
  WriteLines<kOn>(store, dx, n, std::array{g, x}, ahead,
                  [=](auto load, std::int64_t i) REPRISE_INLINE {
                    return s.scale * (load(g, i) - s.mean_g - (load(x, i) - s.mean) * s.slope);
                  });
}
REPRISE_BY_PROCESSOR(void, Channel,
                     (const float* g, const float* x, const ChannelGradient& of, float* dx,
                      std::int64_t n, std::int64_t ahead, const NonTemporalStore& store),
                     (g, x, of, dx, n, ahead, store));

// Elements whose sums are taken in float32, as many at a time as a register holds.
constexpr std::int64_t kBlock = 65536;

[[gnu::always_inline]] inline void StepByOne(const NormGradientStep& s, std::int64_t begin,
                                             std::int64_t end, NormSums& sums) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (s.next.g != nullptr) {
      const float g = s.next.g[i];
      const float h = (s.next.x[i] - s.next.mean) * s.next.rstd;
      sums.gw += static_cast<double>(g * s.w[i]);
      sums.gwh += static_cast<double>(g * s.w[i] * h);
      s.dw[i] += g * h;
      s.db[i] += g;
    }
    if (s.row.g != nullptr && s.dx != nullptr) {
      const float h = (s.row.x[i] - s.row.mean) * s.row.rstd;
      s.dx[i] = s.row.rstd * (s.row.g[i] * s.w[i] - s.mean_gw - h * s.mean_gwh);
    }
  }
}

template <Processor kOn>
[[gnu::always_inline]] inline void TakeLinesOn(const NormGradientStep& step, std::int64_t begin,
                                               std::int64_t end, const NonTemporalStore& store,
                                               NormSums* sums) {
  constexpr std::int64_t kLine = NonTemporalStore::kLineFloats;
  const NormGradientStep s = step;
  const bool writes = s.row.g != nullptr && s.dx != nullptr;
  Lanes<kOn> gw{};
  Lanes<kOn> gwh{};
  for (std::int64_t line = begin; line < end; line += kLine) {
    if (s.next.g != nullptr) {
      for (std::int64_t i = line; i < line + kLine; i += kLanes<kOn>) {
        const Lanes<kOn> g = LoadLanes<kOn>(s.next.g + i);
        const Lanes<kOn> h = (LoadLanes<kOn>(s.next.x + i) - s.next.mean) * s.next.rstd;
        const Lanes<kOn> weighted = g * LoadLanes<kOn>(s.w + i);
        gw += weighted;
        gwh += weighted * h;
        StoreLanes(s.dw + i, LoadLanes<kOn>(s.dw + i) + g * h);
        StoreLanes(s.db + i, LoadLanes<kOn>(s.db + i) + g);
      }
      // Into the second cache: the first is full of two rows, the sums and the weights.
      __builtin_prefetch(s.next.g + line + NonTemporalStore::kAheadFloats, 0, 2);
      __builtin_prefetch(s.next.x + line + NonTemporalStore::kAheadFloats, 0, 2);
    }
    if (writes) {
      WriteLine<kOn>(store, s.dx + line, [=](std::int64_t k) REPRISE_INLINE {
        const std::int64_t i = line + k;
        const Lanes<kOn> h = (LoadLanes<kOn>(s.row.x + i) - s.row.mean) * s.row.rstd;
        const Lanes<kOn> weighted = LoadLanes<kOn>(s.row.g + i) * LoadLanes<kOn>(s.w + i);
        return s.row.rstd * (weighted - s.mean_gw - h * s.mean_gwh);
      });
    }
  }
  sums->gw += static_cast<double>(SumOfLanes(gw));
  sums->gwh += static_cast<double>(SumOfLanes(gwh));
}
REPRISE_BY_PROCESSOR(void, TakeLines,
                     (const NormGradientStep& step, std::int64_t begin, std::int64_t end,
                      const NonTemporalStore& store, NormSums* sums),
                     (step, begin, end, store, sums));

}  // namespace

void WriteScaled(const float* x, float scale, float shift, float* y, std::int64_t n,
                 std::int64_t ahead, const NonTemporalStore& store) {
  ScaledHere(x, scale, shift, y, n, ahead, store);
}
void WriteNormalised(const float* x, const Normal& of, const float* w, const float* b, float* y,
                     std::int64_t n, std::int64_t ahead, const NonTemporalStore& store) {
  NormalisedHere(x, of, w, b, y, n, ahead, store);
}
void WriteChannelGradient(const float* g, const float* x, const ChannelGradient& of, float* dx,
                          std::int64_t n, std::int64_t ahead, const NonTemporalStore& store) {
  ChannelHere(g, x, of, dx, n, ahead, store);
}

NormSums TakeStep(const NormGradientStep& step, std::int64_t n, const NonTemporalStore& store) {
  constexpr std::int64_t kLine = NonTemporalStore::kLineFloats;
  NormSums sums;
  const std::int64_t head = NonTemporalStore::FloatsToLine(step.dx, n);
  const std::int64_t lines_end = head + (n - head) / kLine * kLine;
  StepByOne(step, 0, head, sums);
  for (std::int64_t at = head; at < lines_end; at += kBlock) {
    TakeLinesHere(step, at, std::min(at + kBlock, lines_end), store, &sums);
  }
  StepByOne(step, lines_end, n, sums);
  return sums;
}

}  // namespace reprise::loops
