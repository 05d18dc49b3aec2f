#include "replayer/engine/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/clock.h"
#include "kernels/bench/probe.h"
#include "kernels/call_lowering.h"
#include "kernels/kernel.h"

namespace reprise {
namespace {

constexpr double kSlowdownLimit = 20;
// A run that is over this soon is not worth refusing, whatever the ratio.
constexpr std::int64_t kShortRunNs = 30'000'000'000;
// A product is made larger until it takes so long, or its matrices fill the buffers of the copy.
constexpr double kLongEnoughS = 1e-3;
constexpr std::int64_t kSmallestProduct = 384;
constexpr std::int64_t kCpuCopyBytes = std::int64_t{16} << 20;
constexpr std::int64_t kGpuCopyBytes = std::int64_t{256} << 20;  // beyond the caches
// Of what is shorter, so many are timed together: a launch and a wait take microseconds.
constexpr int kTogether = 16;

class ProbeBindings final : public Bindings {
 public:
  explicit ProbeBindings(std::array<Buffer*, 3> buffers) : buffers_(buffers) {}
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    return buffers_.at(static_cast<std::size_t>(incarnation));
  }

 private:
  std::array<Buffer*, 3> buffers_;
};

OpCall ProductCall(std::int64_t size, DType dtype) {
  const auto matrix = [&](std::int64_t incarnation) {
    TensorDesc desc;
    desc.incarnation = incarnation;
    desc.elements = size * size;
    desc.dtype = dtype;
    desc.shape = {size, size};
    desc.strides = {size, 1};
    return Value{desc};
  };
  return {"aten::mm", {matrix(0), matrix(1)}, {matrix(2)}};
}

// Shortest of a few runs, after one that compiles.
Result<double> BestSeconds(Stream& stream,
                           const std::vector<std::unique_ptr<PreparedLaunch>>& launches,
                           int together = 1) {
  double best_s = 1e9;
  for (int run = 0; run < 4; ++run) {
    const std::int64_t begin_ns = MonotonicNs();
    for (int i = 0; i < together; ++i) {
      for (const auto& launch : launches) {
        REPRISE_TRY(stream.Enqueue(*launch));
      }
    }
    REPRISE_TRY(stream.Finish());
    if (run > 0) {
      best_s = std::min(best_s, static_cast<double>(MonotonicNs() - begin_ns) * 1e-9 / together);
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

class Probe {
 public:
  static Result<Probe> Create(Device& device) {
    const DeviceInfo& info = device.info();
    const std::int64_t most = std::min(info.max_allocation_bytes / 4, info.memory_bytes / 16);
    const std::int64_t wanted =
        info.is_cpu ? kCpuCopyBytes : std::clamp(most, kCpuCopyBytes, kGpuCopyBytes);
    Probe probe(device, std::min(wanted, info.max_allocation_bytes));
    REPRISE_ASSIGN(probe.stream_, device.CreateStream(false));
    for (auto& buffer : probe.buffers_) {
      REPRISE_ASSIGN(buffer, device.Allocate(probe.bytes_));
    }
    for (Buffer* read : {probe.buffers_[0].get(), probe.buffers_[1].get()}) {
      REPRISE_TRY(WriteAll(device, *read));
    }
    return probe;
  }

  Result<double> BytesPerSecond() {
    REPRISE_ASSIGN(
        const auto copy,
        PrepareAll(device_, {DeviceCopy{buffers_[1].get(), 0, buffers_[0].get(), 0, bytes_}}));
    REPRISE_ASSIGN(const double seconds, BestSeconds(*stream_, copy));
    return 2.0 * static_cast<double>(bytes_) / std::max(seconds, 1e-9);
  }

  Result<double> FlopsPerSecond(DType dtype) {
    for (std::int64_t size = kSmallestProduct;; size *= 2) {
      const std::int64_t next_bytes = 4 * size * size * SizeOf(dtype);
      REPRISE_ASSIGN(const double seconds, ProductSeconds(size, dtype));
      if (seconds >= kLongEnoughS || next_bytes > bytes_) {
        return CostOf(ProductCall(size, dtype)).flops / std::max(seconds, 1e-9);
      }
    }
  }

 private:
  Probe(Device& device, std::int64_t bytes) : device_(device), bytes_(bytes) {}

  Result<double> ProductSeconds(std::int64_t size, DType dtype) {
    const OpCall call = ProductCall(size, dtype);
    const Kernel* kernel = KernelRegistry::Builtin().Find(call);
    if (kernel == nullptr) {
      return EnvironmentError("no GEMM kernel is registered: the program was built without it");
    }
    const ProbeBindings memory({buffers_[0].get(), buffers_[1].get(), buffers_[2].get()});
    std::vector<std::unique_ptr<Buffer>> scratch;
    const LowerContext context{memory, device_.info(),
                               [&](int, std::int64_t bytes) -> Result<Buffer*> {
                                 REPRISE_ASSIGN(auto buffer, device_.Allocate(bytes));
                                 scratch.push_back(std::move(buffer));
                                 return scratch.back().get();
                               }};
    REPRISE_ASSIGN(const auto lowered, device_.lowering().Lower(*kernel, call, context));
    REPRISE_ASSIGN(const auto launches, PrepareAll(device_, lowered));
    REPRISE_ASSIGN(const double alone_s, BestSeconds(*stream_, launches));
    return alone_s < kLongEnoughS ? BestSeconds(*stream_, launches, kTogether) : alone_s;
  }

  Device& device_;
  std::int64_t bytes_;
  std::unique_ptr<Stream> stream_;
  std::array<std::unique_ptr<Buffer>, 3> buffers_;
};

std::string Seconds(std::int64_t ns) {
  return fmt::format("{:.3g} s", static_cast<double>(ns) * 1e-9);
}

}  // namespace

double DeviceLimits::FlopsOf(OpClass op_class, DType dtype) const {
  double of_type = 0;
  if (op_class == OpClass::kGemm && dtype == DType::kFloat16) {
    of_type = float16_flops_per_second;
  } else if (op_class == OpClass::kGemm && dtype == DType::kBFloat16) {
    of_type = bfloat16_flops_per_second;
  }
  return of_type > 0 ? of_type : flops_per_second;
}

Result<DeviceLimits> MeasureLimits(Device& device, const std::set<DType>& dtypes) {
  REPRISE_ASSIGN(Probe probe, Probe::Create(device));
  DeviceLimits limits;
  REPRISE_ASSIGN(limits.bytes_per_second, probe.BytesPerSecond());
  REPRISE_ASSIGN(limits.flops_per_second, probe.FlopsPerSecond(DType::kFloat32));
  if (dtypes.contains(DType::kFloat16)) {
    REPRISE_ASSIGN(limits.float16_flops_per_second, probe.FlopsPerSecond(DType::kFloat16));
  }
  if (dtypes.contains(DType::kBFloat16)) {
    REPRISE_ASSIGN(limits.bfloat16_flops_per_second, probe.FlopsPerSecond(DType::kBFloat16));
  }
  return limits;
}

std::set<DType> ProductTypes(const Graph& graph, const Plan& plan) {
  std::set<DType> dtypes;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (plan.work[i].Computes() && graph.op_class(i) == OpClass::kGemm) {
      dtypes.insert(plan.work[i].dtype);
    }
  }
  return dtypes;
}

double EstimateSeconds(const Work& work, OpClass op_class, const DeviceLimits& limits) {
  return std::max(work.cost.flops / limits.FlopsOf(op_class, work.dtype),
                  work.cost.bytes / limits.bytes_per_second);
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
    seconds += work.stretch * EstimateSeconds(work, graph.op_class(i), limits);
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
