// Calls on the host backend: one task that runs the kernel's loops, or PyTorch's operator.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kernels/call_lowering.h"
#include "kernels/cpu/blas.h"
#include "kernels/torch/torch_provider.h"

namespace reprise {

class HostLowering final : public CallLowering {
 public:
  // Either may be nullptr: oneDNN's products, our kernels.
  explicit HostLowering(std::shared_ptr<const Blas> blas = nullptr,
                        std::shared_ptr<const TorchProvider> torch = nullptr)
      : blas_(std::move(blas)), torch_(std::move(torch)) {}
  [[nodiscard]] Result<std::vector<Launch>> Lower(const Kernel& kernel, const OpCall& call,
                                                  const LowerContext& context) const override;
  [[nodiscard]] Launch Surrogate(const SurrogatePlan& plan, Buffer* scratch,
                                 const DeviceInfo& device) const override;
  // One memcpy per core.
  [[nodiscard]] Launch CopyProbe(Buffer* to, Buffer* from, std::int64_t bytes,
                                 const DeviceInfo& device) const override;
  [[nodiscard]] MultiplyAddProbe MultiplyAdd(DType dtype, std::int32_t rounds, Buffer* out,
                                             const DeviceInfo& device) const override;

 private:
  std::shared_ptr<const Blas> blas_;
  std::shared_ptr<const TorchProvider> torch_;
};

}  // namespace reprise
