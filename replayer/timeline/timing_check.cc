#include "replayer/timeline/timing_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace reprise {
namespace {

constexpr std::size_t kMaxDetails = 5;

struct Span {
  std::int64_t first_ns = 0, last_ns = 0;
  [[nodiscard]] std::int64_t Length() const { return last_ns - first_ns; }
};

// By step, the longest span of a rank. Nodes outside any step count only if all are.
std::map<std::int32_t, std::int64_t> StepSpans(const TimingTrace& trace,
                                               const std::vector<std::int64_t>& start_ns,
                                               const std::vector<std::int64_t>& end_ns) {
  const bool stepless =
      std::all_of(trace.step.begin(), trace.step.end(), [](std::int32_t s) { return s < 0; });
  std::map<std::pair<std::int32_t, std::int32_t>, Span> spans;  // by step and rank
  for (std::size_t i = 0; i < trace.step.size(); ++i) {
    if (trace.step[i] >= 0 || stepless) {
      const auto [at, added] =
          spans.try_emplace({trace.step[i], trace.recording.rank[i]}, Span{start_ns[i], end_ns[i]});
      at->second.first_ns = std::min(at->second.first_ns, start_ns[i]);
      at->second.last_ns = std::max(at->second.last_ns, end_ns[i]);
    }
  }
  std::map<std::int32_t, std::int64_t> longest;
  for (const auto& [key, span] : spans) {
    std::int64_t& length = longest[key.first];
    length = std::max(length, span.Length());
  }
  return longest;
}

void CompareSteps(const TimingTrace& trace, const Schedule& schedule, TimingRow& row) {
  const auto recorded = StepSpans(trace, trace.recording.start_ns, trace.recording.end_ns);
  const auto replayed = StepSpans(trace, schedule.start_ns, schedule.end_ns);
  std::int64_t off_ns = 0;
  for (const auto& [step, recorded_ns] : recorded) {
    row.recorded_ns += recorded_ns;
    row.dry_run_ns += replayed.at(step);
    off_ns += std::abs(replayed.at(step) - recorded_ns);
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
  CompareSteps(trace, schedule, row);
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
