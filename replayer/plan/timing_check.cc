#include "replayer/plan/timing_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "replayer/plan/graph_steps.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxDetails = 5;

// By step, the longest of a rank.
std::vector<std::int64_t> LongestSteps(const TimingTrace& trace,
                                       std::span<const Graph* const> graphs,
                                       const std::vector<std::int64_t>& start_ns,
                                       const std::vector<std::int64_t>& end_ns) {
  std::vector<std::int64_t> longest_ns;
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    const std::size_t first = trace.first[rank];
    const std::size_t count = trace.first[rank + 1] - first;
    const StepNodes nodes{std::span(trace.step).subspan(first, count),
                          std::span(start_ns).subspan(first, count),
                          std::span(end_ns).subspan(first, count)};
    const auto spans = StepSpans(FrameOf(*graphs[rank]), nodes);
    longest_ns.resize(std::max(longest_ns.size(), spans.size()), 0);
    for (std::size_t step = 0; step < spans.size(); ++step) {
      longest_ns[step] = std::max(longest_ns[step], spans[step].second - spans[step].first);
    }
  }
  return longest_ns;
}

void CompareSteps(const TimingTrace& trace, std::span<const Graph* const> graphs,
                  const Schedule& schedule, TimingRow& row) {
  const auto recorded_ns =
      LongestSteps(trace, graphs, trace.recording.start_ns, trace.recording.end_ns);
  const auto replayed_ns = LongestSteps(trace, graphs, schedule.start_ns, schedule.end_ns);
  std::int64_t off_ns = 0;
  for (std::size_t step = 0; step < recorded_ns.size(); ++step) {
    row.recorded_ns += recorded_ns[step];
    row.dry_run_ns += replayed_ns[step];
    off_ns += std::abs(replayed_ns[step] - recorded_ns[step]);
  }
  row.error =
      row.recorded_ns > 0 ? static_cast<double>(off_ns) / static_cast<double>(row.recorded_ns) : 0;
  for (std::size_t i = 0; i < trace.step.size(); ++i) {
    row.worst_start_ns =
        std::max(row.worst_start_ns, std::abs(schedule.start_ns[i] - trace.recording.start_ns[i]));
  }
}

std::string NameOf(const TimingTrace& trace, std::span<const Graph* const> graphs,
                   std::uint32_t node) {
  const auto [rank, index] = trace.Locate(node);
  return fmt::format("{} (rank {} node {})", graphs[rank]->name(index), trace.ranks[rank],
                     graphs[rank]->id(index));
}

void Describe(const TimingTrace& trace, std::span<const Graph* const> graphs,
              const Explanation& explanation, TimingRow& row) {
  for (const ViolatedEdge& edge : explanation.violated) {
    if (row.details.size() == kMaxDetails) {
      break;
    }
    row.details.push_back(fmt::format(
        "violated edge: {} ends {:.1f} us after the start of {}", NameOf(trace, graphs, edge.from),
        static_cast<double>(edge.by_ns) / 1e3, NameOf(trace, graphs, edge.to)));
  }
  const std::size_t violations = row.details.size();
  for (const UnexplainedDelay& delay : explanation.unexplained) {
    if (row.details.size() == violations + kMaxDetails) {
      break;
    }
    row.details.push_back(fmt::format("unexplained: {:.1f} us before or in {}, in which {} ended",
                                      static_cast<double>(delay.ns) / 1e3,
                                      NameOf(trace, graphs, delay.node),
                                      NameOf(trace, graphs, delay.ended)));
  }
}

}  // namespace

Result<TimingRow> CheckTiming(const TimingTrace& trace, std::span<const Graph* const> graphs,
                              bool set_scope) {
  TimingRow row;
  if (!set_scope) {
    row.rank = trace.ranks.front();
  }
  REPRISE_ASSIGN(const Schedule schedule, DryRun(trace.graph));
  CompareSteps(trace, graphs, schedule, row);
  REPRISE_ASSIGN(const Explanation explanation, Explain(trace.graph, trace.recording));
  for (const RankExplanation& rank : explanation.ranks) {
    row.violated_edges += rank.violated_edges;
    row.clock_errors += rank.clock_errors;
    row.unexplained_ns = std::max(row.unexplained_ns, rank.unexplained_ns);
    row.wakeup_ns = std::max(row.wakeup_ns, rank.wakeup_ns);
  }
  for (const std::int64_t uncertainty_ns : trace.recording.clock_uncertainty_ns) {
    row.clock_uncertainty_ns = std::max(row.clock_uncertainty_ns, uncertainty_ns);
  }
  Describe(trace, graphs, explanation, row);
  return row;
}

}  // namespace reprise
