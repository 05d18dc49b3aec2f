#include "kernels/probe.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "kernels/host/host_probe.h"
#include "kernels/lowering.h"

namespace reprise {
namespace {

constexpr std::int64_t kCpuCopyBytes = std::int64_t{64} << 20;
constexpr std::int64_t kGpuCopyBytes = std::int64_t{512} << 20;
constexpr int kCopyRuns = 8;
// Short and many: on a busy machine some of them still find all cores free.
constexpr int kFmaRuns = 50;
constexpr double kFmaSeconds = 0.002;
constexpr std::int32_t kFirstRounds = 1000;
constexpr std::int32_t kMostRounds = 1 << 28;
constexpr int kDeviceChains = 8;  // CHAINS of ops/probe.cl

Result<double> BestSeconds(Device& device, Stream& stream, const Launch& launch, int runs) {
  REPRISE_ASSIGN(const auto prepared, device.Prepare(launch));
  double best_s = 1e9;
  for (int run = 0; run <= runs; ++run) {  // the first compiles
    const std::int64_t begin_ns = MonotonicNs();
    REPRISE_TRY(stream.Enqueue(*prepared));
    REPRISE_TRY(stream.Finish());
    if (run > 0) {
      best_s = std::min(best_s, static_cast<double>(MonotonicNs() - begin_ns) * 1e-9);
    }
  }
  return std::max(best_s, 1e-9);
}

std::vector<Launch> CopyLaunches(Buffer* to, Buffer* from, std::int64_t bytes,
                                 const DeviceInfo& device) {
  if (device.backend == "host") {
    return {HostTask{[=]() -> Status {
      CopyOnAllCores(to->host_data(), from->host_data(), static_cast<std::size_t>(bytes));
      return {};
    }}};
  }
  DeviceKernel kernel{.program = "probe.cl", .entry = "probe_copy", .options = " -DT=float"};
  const std::int64_t words = bytes / 16;
  kernel.args = {from, to, words};
  SetItemsLaunch(kernel, words, device);
  return {DeviceCopy{to, 0, from, 0, bytes}, kernel};
}

// The type that the probe computes in.
DType ArithmeticType(DType dtype, const DeviceInfo& device) {
  const bool half = dtype == DType::kFloat16 && device.fp16 && device.backend != "host";
  return half || (dtype == DType::kFloat64 && device.fp64) ? dtype : DType::kFloat32;
}

// `rounds` rounds of multiply-adds, and how many FLOPs one round is.
struct FmaWork {
  Launch launch;
  double flops_per_round = 0;
};

FmaWork FmaOnHost(DType dtype, std::int32_t rounds) {
  const HostTask task{[=]() -> Status {
    MultiplyAddOnAllCores(dtype, rounds);
    return {};
  }};
  return {task, MultiplyAddFlopsPerRound(dtype)};
}

FmaWork FmaOnDevice(DType dtype, std::int32_t rounds, Buffer* out, const DeviceInfo& device) {
  const bool half = dtype == DType::kFloat16;
  const bool wide = dtype == DType::kFloat64;
  const int lanes = device.is_cpu ? (wide ? 8 : 16) : (half ? 2 : 1);
  DeviceKernel kernel{.program = "probe.cl", .entry = "probe_fma"};
  kernel.options = std::string(" -DT=") + (half ? "half" : (wide ? "double" : "float")) +
                   " -DLANES=" + std::to_string(lanes);
  kernel.args = {out, rounds, 0.999F, 0.001F};
  SetItemsLaunch(kernel, std::int64_t{1} << 40, device);
  const auto items = static_cast<double>(kernel.global[0]);
  return {kernel, 2.0 * kDeviceChains * lanes * items};
}

}  // namespace

Status WriteAll(Device& device, Buffer& buffer) {
  REPRISE_ASSIGN(const auto stream, device.CreateStream(false));
  REPRISE_ASSIGN(const auto fill,
                 device.Prepare(DeviceFill{&buffer, 0, buffer.size_bytes(), {std::byte{0x3f}}}));
  REPRISE_TRY(stream->Enqueue(*fill));
  return stream->Finish();
}

Result<double> ProbeCopy(Device& device) {
  const DeviceInfo& info = device.info();
  std::int64_t bytes = info.is_cpu ? kCpuCopyBytes : kGpuCopyBytes;
  while (bytes > 4096 && bytes > info.max_allocation_bytes / 4) {
    bytes /= 2;
  }
  REPRISE_ASSIGN(const auto stream, device.CreateStream(false));
  REPRISE_ASSIGN(const auto to, device.Allocate(bytes));
  REPRISE_ASSIGN(const auto from, device.Allocate(bytes));
  REPRISE_TRY(WriteAll(device, *from));
  double best_s = 1e9;
  for (const Launch& launch : CopyLaunches(to.get(), from.get(), bytes, info)) {
    REPRISE_ASSIGN(const double seconds, BestSeconds(device, *stream, launch, kCopyRuns));
    best_s = std::min(best_s, seconds);
  }
  return 2.0 * static_cast<double>(bytes) / best_s;
}

Result<double> ProbeFma(Device& device, DType dtype) {
  const DeviceInfo& info = device.info();
  const DType type = ArithmeticType(dtype, info);
  REPRISE_ASSIGN(const auto stream, device.CreateStream(false));
  // More than every work-item's vector of results.
  REPRISE_ASSIGN(const auto out, device.Allocate(std::int64_t{64} << 20));
  const auto work_of = [&](std::int32_t rounds) {
    return info.backend == "host" ? FmaOnHost(type, rounds)
                                  : FmaOnDevice(type, rounds, out.get(), info);
  };
  // Rounds grow until starting them does not count. The shortest of all runs decides, for on a busy
  // machine a single one says nothing.
  std::int32_t rounds = kFirstRounds;
  while (true) {
    const FmaWork work = work_of(rounds);
    REPRISE_ASSIGN(const double best_s, BestSeconds(device, *stream, work.launch, kFmaRuns));
    if (best_s >= kFmaSeconds / 2 || rounds >= kMostRounds) {
      return work.flops_per_round * rounds / best_s;
    }
    const double factor = std::clamp(kFmaSeconds / best_s, 2.0, 100.0);
    rounds = static_cast<std::int32_t>(std::min<double>(rounds * factor, kMostRounds));
  }
}

Status Roofline::Measure(Device& device, const std::vector<DType>& dtypes) {
  REPRISE_ASSIGN(const double copy, ProbeCopy(device));
  bytes_per_second = std::max(bytes_per_second, copy);
  for (const DType dtype : dtypes) {
    REPRISE_ASSIGN(const double fma, ProbeFma(device, dtype));
    flops_per_second[dtype] = std::max(flops_per_second[dtype], fma);
  }
  return {};
}

double Roofline::FlopsOf(DType dtype) const {
  const auto it = flops_per_second.find(dtype);
  return it == flops_per_second.end() ? 0 : it->second;
}

}  // namespace reprise
