#include "cli/anonymize_verify.h"

#include <fmt/format.h>

#include "et_schema/trace_set.h"
#include "replayer/plan/plan.h"
#include "share/anonymize/set_comparison.h"

namespace reprise {
namespace {

using DifferenceFound = std::optional<std::string>;

bool SameWork(const Work& a, const Work& b) {
  return a.type == b.type && a.mode == b.mode && a.kernel == b.kernel && a.actor == b.actor &&
         a.cost.flops == b.cost.flops && a.cost.bytes == b.cost.bytes && a.gap_ns == b.gap_ns &&
         a.host_ns == b.host_ns && a.step == b.step && a.joins == b.joins &&
         a.releases == b.releases && a.counts == b.counts && a.alone == b.alone;
}

Result<DifferenceFound> PlansDiffer(const Graph& a, const Graph& b) {
  ReplayOptions options;
  options.assume_groups = true;
  REPRISE_ASSIGN(const Plan plan_a, BuildPlan(a, options, KernelRegistry::Builtin()));
  REPRISE_ASSIGN(const Plan plan_b, BuildPlan(b, options, KernelRegistry::Builtin()));
  const std::int32_t rank = a.metadata().rank;
  for (Graph::Index i = 0; i < a.size(); ++i) {
    if (!SameWork(plan_a.work[i], plan_b.work[i])) {
      return DifferenceFound(
          fmt::format("rank {}: node {} ({}) and node {} are planned differently", rank, a.id(i),
                      a.name(i), b.id(i)));
    }
  }
  if (plan_a.transfers != plan_b.transfers) {
    return DifferenceFound(fmt::format("rank {}: transfers are issued in another order", rank));
  }
  if (plan_a.deps != plan_b.deps || plan_a.dep_offset != plan_b.dep_offset ||
      plan_a.tail_ns != plan_b.tail_ns) {
    return DifferenceFound(fmt::format("rank {}: the plans' dependencies or ends differ", rank));
  }
  return DifferenceFound();
}

}  // namespace

Result<DifferenceFound> FirstDifference(const std::string& original, const std::string& result) {
  REPRISE_ASSIGN(const TraceSet a, TraceSet::OpenPresent(original));
  REPRISE_ASSIGN(const TraceSet b, TraceSet::OpenPresent(result));
  SetComparison comparison;
  if (DifferenceFound difference = comparison.Groups(a, b)) {
    return difference;
  }
  for (const TraceSet::DistinctRank& one : a.DistinctRanks()) {
    REPRISE_ASSIGN(const Graph graph_a, Graph::Load(one.path));
    REPRISE_ASSIGN(const Graph graph_b, Graph::Load(b.files.at(one.rank)));
    REPRISE_ASSIGN(DifferenceFound difference, comparison.Rank(graph_a, graph_b));
    if (!difference) {
      REPRISE_ASSIGN(difference, PlansDiffer(graph_a, graph_b));
    }
    if (difference) {
      return difference;
    }
  }
  return DifferenceFound();
}

}  // namespace reprise
