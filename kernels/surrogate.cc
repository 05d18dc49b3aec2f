// The same bytes and FLOPs as a call, by another kernel: kernels/ops/surrogate.cl.
#include <algorithm>
#include <cmath>

#include "kernels/lowering.h"

namespace reprise {
namespace {

// Scratch beyond this is walked several times instead, lest a surrogate run out of memory.
constexpr std::int64_t kMaxScratchBytes = std::int64_t{256} << 20;
constexpr std::int64_t kWordBytes = sizeof(float);

struct Plan {
  std::int64_t words = 0;
  std::int64_t passes = 1;
  std::int32_t fma_per_word = 0;
};

// Each word of each pass is read and written once: 2 × 4 bytes.
Plan MakePlan(const Cost& cost) {
  Plan plan;
  const double words = std::max(1.0, std::ceil(cost.bytes / (2.0 * kWordBytes)));
  plan.words = static_cast<std::int64_t>(
      std::min(words, static_cast<double>(kMaxScratchBytes / kWordBytes)));
  plan.passes = static_cast<std::int64_t>(std::ceil(words / static_cast<double>(plan.words)));
  const double visited = static_cast<double>(plan.words) * static_cast<double>(plan.passes);
  plan.fma_per_word =
      static_cast<std::int32_t>(std::min(1e6, std::round(cost.flops / 2 / visited)));
  return plan;
}

void RunOnHost(const Plan& plan, float* scratch) {
  for (std::int64_t pass = 0; pass < plan.passes; ++pass) {
    for (std::int64_t i = 0; i < plan.words; ++i) {
      float x = scratch[i];
      for (int k = 0; k < plan.fma_per_word; ++k) {
        x = x * 0.5F + 0.25F;
      }
      scratch[i] = x;
    }
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

}  // namespace reprise
