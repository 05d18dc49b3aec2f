// Work without a kernel of its own: the same bytes and FLOPs as a call, and copies of memory.
#include <algorithm>
#include <cmath>

#include "kernels/call_lowering.h"

namespace reprise {
namespace {

// Scratch beyond this is walked several times instead, lest a surrogate run out of memory.
constexpr std::int64_t kMaxScratchBytes = std::int64_t{256} << 20;
constexpr std::int64_t kWordBytes = sizeof(float);
constexpr std::int64_t kMaxWords = kMaxScratchBytes / kWordBytes;
constexpr double kMaxFmaPerWord = 4096;

// Each word of each pass is read and written once: 2 × 4 bytes. Arithmetic without bytes gets words
// nevertheless: those of one run one after the other.
SurrogatePlan PlanSurrogate(const Cost& cost) {
  SurrogatePlan plan;
  const double words = std::max({1.0, std::ceil(cost.bytes / (2.0 * kWordBytes)),
                                 std::ceil(cost.flops / 2 / kMaxFmaPerWord)});
  const double most_words = static_cast<double>(kMaxWords);
  plan.passes = static_cast<std::int64_t>(std::ceil(words / most_words));
  plan.words = static_cast<std::int64_t>(std::ceil(words / static_cast<double>(plan.passes)));
  const double visited = static_cast<double>(plan.words) * static_cast<double>(plan.passes);
  plan.fma_per_word = static_cast<std::int32_t>(std::round(cost.flops / 2 / visited));
  return plan;
}

}  // namespace

Result<std::vector<Launch>> LowerSurrogate(const Cost& cost, const CallLowering& lowering,
                                           const LowerContext& context) {
  if (cost.bytes <= 0 && cost.flops <= 0) {
    return std::vector<Launch>{};
  }
  const SurrogatePlan plan = PlanSurrogate(cost);
  REPRISE_ASSIGN(Buffer * scratch, context.scratch(0, plan.words * kWordBytes));
  return std::vector<Launch>{lowering.Surrogate(plan, scratch, context.device)};
}

Result<std::vector<Launch>> LowerMemcpy(std::int64_t bytes, bool fill,
                                        const LowerContext& context) {
  std::vector<Launch> launches;
  if (bytes <= 0) {
    return launches;
  }
  const std::int64_t scratch_bytes = std::min(bytes, kMaxScratchBytes);
  REPRISE_ASSIGN(Buffer * to, context.scratch(0, scratch_bytes));
  REPRISE_ASSIGN(Buffer * from, context.scratch(1, scratch_bytes));
  for (std::int64_t done = 0; done < bytes; done += scratch_bytes) {
    const std::int64_t now = std::min(scratch_bytes, bytes - done);
    if (fill) {
      launches.emplace_back(DeviceFill{to, 0, now, {std::byte{0}}});
    } else {
      launches.emplace_back(DeviceCopy{to, 0, from, 0, now});
    }
  }
  return launches;
}

}  // namespace reprise
