#include "kernels/bench/probe.h"

#include <algorithm>
#include <array>

#include "core/clock.h"
#include "kernels/call_lowering.h"

namespace reprise {
namespace {

constexpr std::int64_t kCpuCopyBytes = std::int64_t{64} << 20;
constexpr std::int64_t kGpuCopyBytes = std::int64_t{512} << 20;
constexpr int kCopyRuns = 8;
// Short and many: on a busy machine some of them still find all cores free.
constexpr int kFmaRuns = 50;
constexpr double kFmaSeconds = 0.002;
constexpr std::int32_t kFirstRounds = 1000;
constexpr std::int32_t kMaxRounds = 1 << 28;

// The type that the probe computes in.
DType ArithmeticType(DType dtype, const DeviceInfo& device) {
  const bool half = dtype == DType::kFloat16 && device.fp16;
  return half || (dtype == DType::kFloat64 && device.fp64) ? dtype : DType::kFloat32;
}

}  // namespace

Status WriteAll(Device& device, Buffer& buffer) {
  REPRISE_ASSIGN(const auto stream, device.CreateStream(false));
  REPRISE_ASSIGN(const auto fill,
                 device.Prepare(DeviceFill{&buffer, 0, buffer.size_bytes(), {std::byte{0x3f}}}));
  REPRISE_TRY(stream->Enqueue(*fill));
  return stream->Finish();
}

double Roofline::FlopsOf(DType dtype) const {
  const auto it = flops_per_second.find(dtype);
  return it == flops_per_second.end() ? 0 : it->second;
}

Roofline::Bound Roofline::BoundOf(const Cost& cost, DType dtype) const {
  const double flops_rate = FlopsOf(dtype);
  const double compute_ns = flops_rate > 0 ? cost.flops / flops_rate * 1e9 : 0;
  const double memory_ns = bytes_per_second > 0 ? cost.bytes / bytes_per_second * 1e9 : 0;
  return {std::max(compute_ns, memory_ns), compute_ns > memory_ns};
}

Result<std::unique_ptr<LimitProbe>> LimitProbe::Create(Device& device,
                                                       const std::vector<DType>& dtypes) {
  std::unique_ptr<LimitProbe> probe(new LimitProbe(device));
  REPRISE_ASSIGN(probe->stream_, device.CreateStream(false));
  REPRISE_TRY(probe->ChooseCopy());
  for (const DType dtype : dtypes) {
    REPRISE_TRY(probe->SizeFma(dtype));
  }
  return probe;
}

Status LimitProbe::ChooseCopy() {
  const DeviceInfo& info = device_.info();
  std::int64_t bytes = info.is_cpu ? kCpuCopyBytes : kGpuCopyBytes;
  while (bytes > 4096 && bytes > info.max_allocation_bytes / 4) {
    bytes /= 2;
  }
  REPRISE_ASSIGN(to_, device_.Allocate(bytes));
  REPRISE_ASSIGN(from_, device_.Allocate(bytes));
  REPRISE_TRY(WriteAll(device_, *from_));
  const std::array<Launch, 2> launches = {
      DeviceCopy{to_.get(), 0, from_.get(), 0, bytes},
      device_.lowering().CopyProbe(to_.get(), from_.get(), bytes, info)};
  for (const Launch& launch : launches) {
    Work work{.amount = 2.0 * static_cast<double>(bytes)};
    REPRISE_ASSIGN(work.launch, device_.Prepare(launch));
    REPRISE_TRY(RateOf(work));  // compiles
    double best = 0;
    for (int run = 0; run < kCopyRuns; ++run) {
      REPRISE_ASSIGN(const double rate, RateOf(work));
      best = std::max(best, rate);
    }
    if (best > best_.bytes_per_second) {
      best_.bytes_per_second = best;
      copy_ = std::move(work);
    }
  }
  return {};
}

// Rounds grow until starting them does not count. The shortest of all runs decides, for on a busy
// machine a single one is not reliable.
Status LimitProbe::SizeFma(DType dtype) {
  const DeviceInfo& info = device_.info();
  const DType type = ArithmeticType(dtype, info);
  std::int32_t rounds = kFirstRounds;
  while (true) {
    const MultiplyAddProbe fma = device_.lowering().MultiplyAdd(type, rounds, to_.get(), info);
    Work work{.amount = fma.flops_per_round * rounds};
    REPRISE_ASSIGN(work.launch, device_.Prepare(fma.launch));
    REPRISE_TRY(RateOf(work));  // compiles
    double best_s = 1e9;
    for (int run = 0; run < kFmaRuns; ++run) {
      REPRISE_ASSIGN(const double rate, RateOf(work));
      best_s = std::min(best_s, work.amount / rate);
    }
    if (best_s >= kFmaSeconds / 2 || rounds >= kMaxRounds) {
      best_.flops_per_second[dtype] = work.amount / best_s;
      fma_[dtype] = std::move(work);
      return {};
    }
    const double factor = std::clamp(kFmaSeconds / best_s, 2.0, 100.0);
    rounds = static_cast<std::int32_t>(std::min<double>(rounds * factor, kMaxRounds));
  }
}

Result<double> LimitProbe::RateOf(const Work& work) {
  const std::int64_t begin_ns = MonotonicNs();
  REPRISE_TRY(stream_->Enqueue(*work.launch));
  REPRISE_TRY(stream_->Finish());
  return work.amount * 1e9 /
         static_cast<double>(std::max<std::int64_t>(MonotonicNs() - begin_ns, 1));
}

Result<double> LimitProbe::Copy() {
  REPRISE_ASSIGN(const double rate, RateOf(copy_));
  best_.bytes_per_second = std::max(best_.bytes_per_second, rate);
  return rate;
}

Result<double> LimitProbe::Fma(DType dtype) {
  REPRISE_ASSIGN(const double rate, RateOf(fma_[dtype]));
  best_.flops_per_second[dtype] = std::max(best_.flops_per_second[dtype], rate);
  return rate;
}

}  // namespace reprise
