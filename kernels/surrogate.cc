// Work without a kernel of its own: the same bytes and FLOPs as a call (kernels/ops/surrogate.cl),
// and copies of memory.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/parts.h"
#include "kernels/lowering.h"
#include "kernels/ops/host_clones.h"

namespace reprise {
namespace {

// Scratch beyond this is walked several times instead, lest a surrogate run out of memory.
constexpr std::int64_t kMaxScratchBytes = std::int64_t{256} << 20;
constexpr std::int64_t kWordBytes = sizeof(float);
constexpr double kMostFmaPerWord = 4096;

struct Plan {
  std::int64_t words = 0;
  std::int64_t passes = 1;
  std::int32_t fma_per_word = 0;
};

// Each word of each pass is read and written once: 2 × 4 bytes. Arithmetic without bytes gets words
// nevertheless: those of one run one after the other.
Plan MakePlan(const Cost& cost) {
  Plan plan;
  const double words = std::max({1.0, std::ceil(cost.bytes / (2.0 * kWordBytes)),
                                 std::ceil(cost.flops / 2 / kMostFmaPerWord)});
  const double most_words = static_cast<double>(kMaxScratchBytes / kWordBytes);
  plan.passes = static_cast<std::int64_t>(std::ceil(words / most_words));
  plan.words = static_cast<std::int64_t>(std::ceil(words / static_cast<double>(plan.passes)));
  const double visited = static_cast<double>(plan.words) * static_cast<double>(plan.passes);
  plan.fma_per_word = static_cast<std::int32_t>(std::round(cost.flops / 2 / visited));
  return plan;
}

// Blocks of words that stay in registers, so that their chains of multiply-adds overlap.
REPRISE_CLONES void WalkOnHost(float* words, std::int64_t count, std::int32_t fma_per_word) {
  constexpr std::int64_t kBlock = 64;
  float block[kBlock] = {};
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t size = std::min(kBlock, count - i);
    std::copy_n(words + i, size, block);
    for (std::int32_t k = 0; k < fma_per_word; ++k) {
      for (float& x : block) {
        x = x * 0.5F + 0.25F;
      }
    }
    std::copy_n(block, size, words + i);
  }
}

void RunOnHost(const Plan& plan, float* scratch) {
  const double bytes_like = 2.0 * kWordBytes + 0.5 * plan.fma_per_word;
  for (std::int64_t pass = 0; pass < plan.passes; ++pass) {
    InParts(plan.words, GrainOf(bytes_like), [&](std::int64_t begin, std::int64_t end) {
      WalkOnHost(scratch + begin, end - begin, plan.fma_per_word);
    });
  }
}

}  // namespace

Result<std::vector<Launch>> LowerSurrogate(const Cost& cost, const LowerContext& context) {
  if (cost.bytes <= 0 && cost.flops <= 0) {
    return std::vector<Launch>{};
  }
  const Plan plan = MakePlan(cost);
  REPRISE_ASSIGN(Buffer * scratch, context.scratch(0, plan.words * kWordBytes));
  if (context.device.backend == "host") {
    return std::vector<Launch>{HostTask{[plan, scratch]() -> Status {
      RunOnHost(plan, reinterpret_cast<float*>(scratch->host_data()));
      return {};
    }}};
  }
  DeviceKernel kernel;
  kernel.program = "surrogate.cl";
  kernel.entry = "surrogate";
  kernel.args = {scratch, plan.words, plan.passes, plan.fma_per_word};
  SetItemsLaunch(kernel, plan.words, context.device);
  return std::vector<Launch>{std::move(kernel)};
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
