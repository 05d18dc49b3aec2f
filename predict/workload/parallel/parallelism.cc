#include "predict/workload/parallel/parallelism.h"

#include <array>

namespace reprise {

#define PARALLELISM(name) Parallelism name();
#include "predict/workload/parallelisms.def"
#undef PARALLELISM

std::span<const Parallelism> BuiltinParallelisms() {
  static const auto builtin = std::to_array<Parallelism>({
#define PARALLELISM(name) name(),
#include "predict/workload/parallelisms.def"
#undef PARALLELISM
  });
  return builtin;
}

GroupRole ByRule(const Layout& layout, std::string role, std::string description,
                 std::vector<std::size_t> axes, std::vector<std::int64_t> at) {
  GroupRole out;
  out.role = std::move(role);
  out.description = std::move(description);
  // Neighbours in data parallelism share experts, unless these have ranks of their own, or
  // parameters.
  const std::int64_t neighbours = layout.shards > 0 ? layout.shards
                                  : layout.etp > 0  ? 1
                                                    : layout.ep;
  out.mesh = {layout.tp, layout.cp, neighbours, layout.dp / neighbours, layout.pp};
  out.axes = std::move(axes);
  out.at = std::move(at);
  return out;
}

GroupRole ByRuleOfExperts(const Layout& layout, std::string role, std::string description,
                          std::vector<std::size_t> axes) {
  GroupRole out;
  out.role = std::move(role);
  out.description = std::move(description);
  out.mesh = {layout.etp, layout.ep, layout.expert_replicas(), layout.pp};
  out.axes = std::move(axes);
  return out;
}

}  // namespace reprise
