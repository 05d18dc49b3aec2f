#include "replayer/engine/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/clock.h"
#include "kernel_bench/probe.h"
#include "kernels/call_lowering.h"
#include "kernels/kernel.h"

namespace reprise {
namespace {

constexpr double kSlowdownLimit = 20;
// A run that is over this soon is not worth refusing, whatever the ratio.
constexpr std::int64_t kShortRunNs = 30'000'000'000;
constexpr std::int64_t kGemmSize = 384;
constexpr std::int64_t kCopyBytes = std::int64_t{16} << 20;

class ProbeBindings final : public Bindings {
 public:
  explicit ProbeBindings(std::array<Buffer*, 3> buffers) : buffers_(buffers) {}
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    return buffers_.at(static_cast<std::size_t>(incarnation));
  }

 private:
  std::array<Buffer*, 3> buffers_;
};

OpCall GemmCall() {
  const auto matrix = [](std::int64_t incarnation) {
    TensorDesc desc;
    desc.incarnation = incarnation;
    desc.elements = kGemmSize * kGemmSize;
    desc.dtype = DType::kFloat32;
    desc.shape = {kGemmSize, kGemmSize};
    desc.strides = {kGemmSize, 1};
    return Value{desc};
  };
  return {"aten::mm", {matrix(0), matrix(1)}, {matrix(2)}};
}

// Shortest of a few runs, after one that compiles.
Result<double> BestSeconds(Stream& stream,
                           const std::vector<std::unique_ptr<PreparedLaunch>>& launches) {
  double best_s = 1e9;
  for (int run = 0; run < 4; ++run) {
    const std::int64_t begin_ns = MonotonicNs();
    for (const auto& launch : launches) {
      REPRISE_TRY(stream.Enqueue(*launch));
    }
    REPRISE_TRY(stream.Finish());
    if (run > 0) {
      best_s = std::min(best_s, static_cast<double>(MonotonicNs() - begin_ns) * 1e-9);
    }
  }
  return best_s;
}

Result<std::vector<std::unique_ptr<PreparedLaunch>>> PrepareAll(
    Device& device, const std::vector<Launch>& launches) {
  std::vector<std::unique_ptr<PreparedLaunch>> prepared;
  for (const Launch& launch : launches) {
    REPRISE_ASSIGN(auto one, device.Prepare(launch));
    prepared.push_back(std::move(one));
  }
  return prepared;
}

std::string Seconds(std::int64_t ns) {
  return fmt::format("{:.3g} s", static_cast<double>(ns) * 1e-9);
}

}  // namespace

Result<DeviceLimits> MeasureLimits(Device& device) {
  REPRISE_ASSIGN(auto stream, device.CreateStream(false));
  REPRISE_ASSIGN(auto a, device.Allocate(kCopyBytes));
  REPRISE_ASSIGN(auto b, device.Allocate(kCopyBytes));
  REPRISE_ASSIGN(auto c, device.Allocate(kCopyBytes));
  for (Buffer* read : {a.get(), b.get()}) {
    REPRISE_TRY(WriteAll(device, *read));
  }
  DeviceLimits limits;
  REPRISE_ASSIGN(const auto copy,
                 PrepareAll(device, {DeviceCopy{b.get(), 0, a.get(), 0, kCopyBytes}}));
  REPRISE_ASSIGN(const double copy_s, BestSeconds(*stream, copy));
  limits.bytes_per_second = 2.0 * static_cast<double>(kCopyBytes) / std::max(copy_s, 1e-9);

  const OpCall call = GemmCall();
  const Kernel* gemm = KernelRegistry::Builtin().Find(call);
  if (gemm == nullptr) {
    return EnvironmentError("no GEMM kernel is registered: the program was built without it");
  }
  const ProbeBindings memory({a.get(), b.get(), c.get()});
  std::vector<std::unique_ptr<Buffer>> scratch;
  const LowerContext context{memory, device.info(),
                             [&](int, std::int64_t bytes) -> Result<Buffer*> {
                               REPRISE_ASSIGN(auto buffer, device.Allocate(bytes));
                               scratch.push_back(std::move(buffer));
                               return scratch.back().get();
                             }};
  REPRISE_ASSIGN(const auto lowered, device.lowering().Lower(*gemm, call, context));
  REPRISE_ASSIGN(const auto launches, PrepareAll(device, lowered));
  REPRISE_ASSIGN(const double gemm_s, BestSeconds(*stream, launches));
  limits.flops_per_second = CostOf(call).flops / std::max(gemm_s, 1e-9);
  return limits;
}

Estimate EstimateReplay(const Graph& graph, const Plan& plan, const MemoryPlan& memory,
                        const DeviceLimits& limits, double slowdown) {
  Estimate estimate;
  estimate.memory_bytes = memory.planned_bytes;
  double seconds = 0;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const Work& work = plan.work[i];
    if (!work.Computes()) {
      continue;
    }
    estimate.recorded_ns += graph.duration_ns(i);
    seconds += work.stretch * std::max(work.cost.flops / limits.flops_per_second,
                                       work.cost.bytes / limits.bytes_per_second);
  }
  constexpr double kMaxNs = 1e18;  // decades, and still a number
  estimate.compute_ns = static_cast<std::int64_t>(std::min(seconds * 1e9 * slowdown, kMaxNs));
  return estimate;
}

Status CheckEstimate(const Estimate& estimate, const DeviceInfo& device, int ranks_sharing_device,
                     const ReplayOptions& options) {
  const std::int64_t share_bytes = device.memory_bytes / std::max(ranks_sharing_device, 1);
  if (estimate.memory_bytes > share_bytes && device.memory_bytes > 0) {
    return EnvironmentError(fmt::format(
        "the replay needs {} bytes ({:.2f} GB) on {}, this rank's share is {} bytes ({:.2f} GB); "
        "ways out: {}--ops timed, or fewer ranks per device",
        estimate.memory_bytes, static_cast<double>(estimate.memory_bytes) * 1e-9, device.name,
        share_bytes, static_cast<double>(share_bytes) * 1e-9,
        options.share_memory ? "" : "--memory share, "));
  }
  const bool slow =
      estimate.recorded_ns > 0 && static_cast<double>(estimate.compute_ns) >
                                      kSlowdownLimit * static_cast<double>(estimate.recorded_ns);
  const double total_ns = static_cast<double>(estimate.compute_ns) *
                          static_cast<double>(options.warmup + options.iterations);
  if (slow && total_ns > kShortRunNs && !options.allow_slow) {
    return EnvironmentError(fmt::format(
        "one iteration would take about {} of computing on {}, recorded were {} ({:.0f} times); "
        "ways out: --ops timed, a faster device, or --allow-slow",
        Seconds(estimate.compute_ns), device.name, Seconds(estimate.recorded_ns),
        static_cast<double>(estimate.compute_ns) /
            static_cast<double>(std::max<std::int64_t>(estimate.recorded_ns, 1))));
  }
  return {};
}

}  // namespace reprise
