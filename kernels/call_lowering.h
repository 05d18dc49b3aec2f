// How a device's backend turns calls into launches.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

// Work without a kernel of its own, as passes over memory: each of `passes` reads and writes
// `words` floats once, with that many multiply-adds on each.
struct SurrogatePlan {
  std::int64_t words = 0;
  std::int64_t passes = 1;
  std::int32_t fma_per_word = 0;
};

// `rounds` rounds of multiply-adds, and how many FLOPs one round is.
struct MultiplyAddProbe {
  Launch launch;
  double flops_per_round = 0;
};

// Stateless and thread-safe. It reads the device only from LowerContext::device, so that it can
// make launches for devices that this machine lacks.
class CallLowering {
 public:
  virtual ~CallLowering() = default;
  // The launches that do the call, which `kernel` supports; to be enqueued in order on one stream.
  // They keep what they need of the call.
  [[nodiscard]] virtual Result<std::vector<Launch>> Lower(const Kernel& kernel, const OpCall& call,
                                                          const LowerContext& context) const = 0;
  // Walks `plan` over scratch memory of plan.words floats.
  [[nodiscard]] virtual Launch Surrogate(const SurrogatePlan& plan, Buffer* scratch,
                                         const DeviceInfo& device) const = 0;
  // For LimitProbe (kernels/bench/probe.h). A copy that may be faster than DeviceCopy: with all of
  // the device's processors.
  [[nodiscard]] virtual Launch CopyProbe(Buffer* to, Buffer* from, std::int64_t bytes,
                                         const DeviceInfo& device) const = 0;
  // Independent chains in registers, on all of the device. `dtype`: float32, or float64 and float16
  // where the device has them. `out`: at least 16 MiB, which the launch may write.
  [[nodiscard]] virtual MultiplyAddProbe MultiplyAdd(DType dtype, std::int32_t rounds, Buffer* out,
                                                     const DeviceInfo& device) const = 0;
};

// Operators of another library that take the place of kernels.
class OperatorProvider {
 public:
  virtual ~OperatorProvider() = default;
  // Whether it does the call; else a kernel does. Thread-safe.
  [[nodiscard]] virtual bool Takes(const OpCall& call) const = 0;
  // Stands for calls that it takes and no kernel supports; it fails where the library refuses one.
  // Exists as long as the provider.
  [[nodiscard]] virtual const Kernel& stand_in() const = 0;
};

// Surrogate for calls without a kernel: launches that move the same bytes and do the same FLOPs on
// `scratch`.
[[nodiscard]] Result<std::vector<Launch>> LowerSurrogate(const Cost& cost,
                                                         const CallLowering& lowering,
                                                         const LowerContext& context);

// What a copy of memory is replayed as where no kernel of an operator does it: `bytes` copied, or
// only written, within the device's memory. Nothing for no bytes.
[[nodiscard]] Result<std::vector<Launch>> LowerMemcpy(std::int64_t bytes, bool fill,
                                                      const LowerContext& context);

}  // namespace reprise
