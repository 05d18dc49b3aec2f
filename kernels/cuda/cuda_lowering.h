// Calls on a CUDA device: PyTorch's operator, else launches of our programs.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kernels/program_lowering.h"
#include "kernels/torch/torch_provider.h"

namespace reprise {

class CudaLowering final : public CallLowering {
 public:
  // `device`: prepares launches; it outlives this. `torch`: nullptr: our programs alone.
  CudaLowering(Device& device, std::shared_ptr<const TorchProvider> torch)
      : device_(device), torch_(std::move(torch)) {}
  // Where PyTorch takes the call: a task that enqueues its operator on the stream that it is
  // enqueued on. Our launches do it where PyTorch refuses; they are prepared only then.
  [[nodiscard]] Result<std::vector<Launch>> Lower(const Kernel& kernel, const OpCall& call,
                                                  const LowerContext& context) const override;
  [[nodiscard]] Launch Surrogate(const SurrogatePlan& plan, Buffer* scratch,
                                 const DeviceInfo& device) const override {
    return programs_.Surrogate(plan, scratch, device);
  }
  [[nodiscard]] Launch CopyProbe(Buffer* to, Buffer* from, std::int64_t bytes,
                                 const DeviceInfo& device) const override {
    return programs_.CopyProbe(to, from, bytes, device);
  }
  [[nodiscard]] MultiplyAddProbe MultiplyAdd(DType dtype, std::int32_t rounds, Buffer* out,
                                             const DeviceInfo& device) const override {
    return programs_.MultiplyAdd(dtype, rounds, out, device);
  }

 private:
  Device& device_;
  const std::shared_ptr<const TorchProvider> torch_;
  const ProgramLowering programs_;
};

}  // namespace reprise
