// Calls that stand for other calls (core/costs/steps.h), which their own kernels run one after the
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

[[nodiscard]] inline Status ReferenceCallSteps(const CallSteps& steps, const HostBindings& memory) {
  for (const auto& [call, kernel] : steps) {
    REPRISE_TRY(kernel->Reference(call, memory));
  }
  return {};
}

[[nodiscard]] inline Result<HostRun> LowerCallStepsToHost(const CallSteps& steps) {
  std::vector<HostRun> runs;
  for (const auto& [call, kernel] : steps) {
    REPRISE_ASSIGN(HostRun run, kernel->LowerToHost(call));
    runs.push_back(std::move(run));
  }
  return HostRun([runs = std::move(runs)](const HostBindings& memory) -> Status {
    for (const HostRun& run : runs) {
      REPRISE_TRY(run(memory));
    }
    return {};
  });
}

inline void LowerCallSteps(const CallSteps& steps, RowLowering& rows) {
  for (const auto& [call, kernel] : steps) {
    rows.Append(kernel->LowerToDevice(call, rows.context()));
  }
}

template <auto Expand>
[[nodiscard]] std::unique_ptr<Kernel> MakeStepsKernel(const KernelFacts& facts) {
  return MakeParsedKernel(facts, CallForm<CallSteps>{.parse = ParseCallSteps<Expand>,
                                                     .reference = ReferenceCallSteps,
                                                     .lower = LowerCallSteps,
                                                     .lower_to_host = LowerCallStepsToHost});
}

}  // namespace reprise
