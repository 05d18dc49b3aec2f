// Calls as launches of programs (kernels/ops/*.cl): for every backend that compiles those.
#pragma once

#include <vector>

#include "kernels/call_lowering.h"

namespace reprise {

class ProgramLowering final : public CallLowering {
 public:
  [[nodiscard]] Result<std::vector<Launch>> Lower(const Kernel& kernel, const OpCall& call,
                                                  const LowerContext& context) const override;
  [[nodiscard]] Launch Surrogate(const SurrogatePlan& plan, Buffer* scratch,
                                 const DeviceInfo& device) const override;
  [[nodiscard]] Launch CopyProbe(Buffer* to, Buffer* from, std::int64_t bytes,
                                 const DeviceInfo& device) const override;
  [[nodiscard]] MultiplyAddProbe MultiplyAdd(DType dtype, std::int32_t rounds, Buffer* out,
                                             const DeviceInfo& device) const override;
};

}  // namespace reprise
