// A way to divide a job among ranks: its process groups, its rules, and what it adds to a step. One
// file and one line of workload/parallelisms.def each.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "et_schema/rank_classes.h"
#include "workload/builder.h"
#include "workload/registry.h"

namespace reprise {

class ParameterStore;
class Unit;

class Parallelism {
 public:
  virtual ~Parallelism() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view help() const = 0;
  // Its groups in this job; those of one rank are left out by the caller.
  [[nodiscard]] virtual std::vector<GroupRole> Groups(const Workload& workload) const = 0;
  // Bad input: the rule that is broken. CheckWorkload adds the nearest layout that works.
  [[nodiscard]] virtual Status Check(const Workload& workload) const = 0;

  // Before a step's first micro-batch.
  virtual void BeforeStep(Builder&, ParameterStore&) const {}
  // Around the passes of a unit through the model, and after all of a step's.
  virtual void BeforeUnit(Builder&, ParameterStore&, Unit&, bool /*backward*/) const {}
  virtual void AfterUnit(Builder&, ParameterStore&, Unit&, bool /*backward*/) const {}
  // All passes of a step were issued; the last parallelism first. Then after the optimizer.
  virtual void AfterBackward(Builder&, ParameterStore&) const {}
  virtual void AfterOptimizer(Builder&, ParameterStore&) const {}
};

// In the order of workload/parallelisms.def, which is that of their hooks.
[[nodiscard]] const KindRegistry<Parallelism>& BuiltinParallelisms();
#define PARALLELISM(name) [[nodiscard]] std::unique_ptr<Parallelism> Make##name();
#include "workload/parallelisms.def"
#undef PARALLELISM

// Groups of the layout's mesh that vary along `axes`.
[[nodiscard]] GroupRole ByRule(const Layout& layout, std::string role, std::string description,
                               std::vector<std::size_t> axes, std::vector<std::int64_t> at = {});

}  // namespace reprise
