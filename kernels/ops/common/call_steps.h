// Calls that stand for other calls (costs/steps.h), which their own kernels run one after the
// other.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/ops/common/parsed_kernel.h"

namespace reprise {

using CallSteps = std::vector<std::pair<OpCall, const Kernel*>>;

// Nothing if `Expand` makes no calls of it, or one that no kernel supports.
template <auto Expand>
[[nodiscard]] std::optional<CallSteps> ParseCallSteps(const OpCall& call) {
  CallSteps steps;
  for (OpCall& step : Expand(call)) {
    const Kernel* const kernel = KernelRegistry::Builtin().Find(step);
    if (kernel == nullptr) {
      return std::nullopt;
    }
    steps.emplace_back(std::move(step), kernel);
  }
  return steps.empty() ? std::nullopt : std::optional(std::move(steps));
}

template <auto Run>  // Kernel::Reference or RunOnHost
[[nodiscard]] Status RunCallSteps(const CallSteps& steps, const HostBindings& memory) {
  for (const auto& [call, kernel] : steps) {
    REPRISE_TRY((kernel->*Run)(call, memory));
  }
  return {};
}

inline void LowerCallSteps(const CallSteps& steps, RowLowering& rows) {
  for (const auto& [call, kernel] : steps) {
    rows.Append(kernel->LowerToDevice(call, rows.context()));
  }
}

template <auto Expand>
[[nodiscard]] std::unique_ptr<Kernel> MakeStepsKernel(const KernelFacts& facts) {
  return MakeParsedKernel(
      facts, CallForm<CallSteps>{ParseCallSteps<Expand>, RunCallSteps<&Kernel::Reference>,
                                 LowerCallSteps, RunCallSteps<&Kernel::RunOnHost>});
}

}  // namespace reprise
