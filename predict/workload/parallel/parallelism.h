// A way to divide a job among ranks: its process groups, its rules, and what it adds to a step. One
// file and one line of predict/workload/parallelisms.def each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "et_schema/rank_classes.h"
#include "predict/workload/builder.h"

namespace reprise {

class ParameterStore;
class Unit;

struct Parallelism {
  using StepHook = void (*)(Builder& b, ParameterStore& store);
  using UnitHook = void (*)(Builder& b, ParameterStore& store, Unit& unit, bool backward);

  std::string_view name, help;
  // Its groups in this job; those of one rank are left out by the caller.
  std::vector<GroupRole> (*groups)(const Workload& workload);
  // Bad input: the rule that is broken.
  Status (*check)(const Workload& workload);

  // Null: nothing to do. Before a step's first micro-batch.
  StepHook before_step = nullptr;
  // Around the passes of a unit through the model, and after all of a step's.
  UnitHook before_unit = nullptr, after_unit = nullptr;
  // All passes of a step were issued; the last parallelism first. Then after the optimizer.
  StepHook after_backward = nullptr, after_optimizer = nullptr;
};

// In the order of predict/workload/parallelisms.def, which is that of their hooks.
[[nodiscard]] std::span<const Parallelism> BuiltinParallelisms();

// Axes of the mesh of ranks, innermost first. Data-parallel ranks are two axes: position in the
// group that divides experts, or parameters (HSDP), and number of that group.
inline constexpr std::size_t kTensorAxis = 0, kContextAxis = 1, kExpertAxis = 2, kReplicaAxis = 3,
                             kStageAxis = 4;
// Groups of the layout's mesh that vary along `axes`.
[[nodiscard]] GroupRole ByRule(const Layout& layout, std::string role, std::string description,
                               std::vector<std::size_t> axes, std::vector<std::int64_t> at = {});

// The same of the mesh that experts with `etp` have: tensor, expert, replica, stage.
inline constexpr std::size_t kOwnTensorAxis = 0, kOwnExpertAxis = 1, kOwnReplicaAxis = 2;
[[nodiscard]] GroupRole ByRuleOfExperts(const Layout& layout, std::string role,
                                        std::string description, std::vector<std::size_t> axes);

}  // namespace reprise
