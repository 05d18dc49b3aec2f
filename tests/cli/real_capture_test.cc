// Delays make any set of edges reproduce the recording; these hold the edges of real captures to
// more: taking one away shows, and shorter operations shorten the step as the critical path says.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "converters/converter.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/timing_check.h"
#include "replayer/plan/training_phases.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct Converted {
  std::vector<Graph> graphs;
  [[nodiscard]] std::vector<const Graph*> Pointers() const {
    std::vector<const Graph*> pointers;
    for (const Graph& graph : graphs) pointers.push_back(&graph);
    return pointers;
  }
};

Converted Convert(const std::string& capture) {
  std::string tidy = capture;
  std::replace(tidy.begin(), tidy.end(), '/', '_');
  const fs::path out = fs::path(REPRISE_BINARY_DIR) / ("test_cli_" + tidy);
  ConvertRequest request;
  request.input_directory = std::string(REPRISE_SOURCE_DIR) + "/traces/" + capture;
  request.output_directory = out.string();
  request.force = true;
  Converted made;
  const auto report = FindConverter("pytorch")->convert(request);
  EXPECT_TRUE(report) << report.error().message;
  const auto set = TraceSet::Open(out.string());
  EXPECT_TRUE(set) << set.error().message;
  if (report && set) {
    for (const auto& [rank, file] : set->files) {
      made.graphs.push_back(Graph::Load(file).value());
    }
  }
  fs::remove_all(out);
  return made;
}

std::int64_t WorstUnexplained(const TimingTrace& trace) {
  std::int64_t worst_ns = 0;
  const Explanation explanation = Explain(trace.graph, trace.recording).value();
  for (const RankExplanation& rank : explanation.ranks) {
    worst_ns = std::max(worst_ns, rank.unexplained_ns);
  }
  return worst_ns;
}

// Takes one dependency of `node` away, as a converter that missed it would: the delay then counts
// from what is left. Returns the time that the edge had covered.
std::int64_t RemoveEdge(TimingTrace& trace, std::uint32_t node, std::uint32_t edge) {
  TimingGraph& graph = trace.graph;
  graph.deps.erase(graph.deps.begin() + edge);
  graph.reasons.erase(graph.reasons.begin() + edge);
  for (std::size_t i = node + 1; i < graph.dep_offset.size(); ++i) {
    --graph.dep_offset[i];
  }
  std::int64_t latest_ns = 0;
  for (std::uint32_t d = graph.dep_offset[node]; d < graph.dep_offset[node + 1]; ++d) {
    latest_ns = std::max(latest_ns, trace.recording.end_ns[graph.deps[d]]);
  }
  const std::int64_t delay_ns = trace.recording.start_ns[node] - latest_ns;
  const std::int64_t covered_ns = delay_ns - graph.delay_ns[node];
  graph.delay_ns[node] = delay_ns;
  return covered_ns;
}

class RealCapture : public ::testing::TestWithParam<const char*> {};

TEST_P(RealCapture, RemovingAWaitedForTransferShowsAndErrorDoesNot) {
  const Converted converted = Convert(GetParam());
  ASSERT_FALSE(converted.graphs.empty());
  int removed = 0;
  for (const Graph& graph : converted.graphs) {
    const Graph* const one[] = {&graph};
    const TimingTrace whole = TimingOfRank(graph);
    const std::int64_t before_ns = WorstUnexplained(whole);
    for (std::uint32_t n = 0; n < whole.graph.size(); ++n) {
      for (std::uint32_t d = whole.graph.dep_offset[n]; d < whole.graph.dep_offset[n + 1]; ++d) {
        if (whole.graph.reasons[d] != static_cast<std::uint8_t>(EdgeReason::kCommWait)) {
          continue;
        }
        TimingTrace less = whole;
        const std::int64_t covered_ns = RemoveEdge(less, n, d);
        if (covered_ns <= 0) {
          continue;  // the host came later than the transfer's end: nothing waited
        }
        ++removed;
        EXPECT_GE(WorstUnexplained(less), before_ns + covered_ns) << graph.name(n) << " " << n;
        EXPECT_EQ(CheckTiming(less, one, false)->error, CheckTiming(whole, one, false)->error);
      }
    }
  }
  EXPECT_GT(removed, 3);
}

// Nanoseconds of a class on the critical path of a schedule.
std::int64_t OnPath(const TimingTrace& trace, const std::vector<const Graph*>& graphs,
                    const TimingGraph& durations, const Schedule& schedule, OpClass op_class) {
  std::int64_t sum_ns = 0;
  for (const std::uint32_t node : CriticalPath(durations, schedule)) {
    const auto [rank, index] = trace.Locate(node);
    const bool counts = graphs[rank]->op_class(index) == op_class &&
                        trace.recording.kind[node] != ActorKind::kTransfer;
    sum_ns += counts ? trace.graph.duration_ns[node] : 0;
  }
  return sum_ns;
}

TEST_P(RealCapture, HalvingAClassMovesTheStepByItsShareOfTheCriticalPath) {
  const Converted converted = Convert(GetParam());
  ASSERT_FALSE(converted.graphs.empty());
  const std::vector<const Graph*> graphs = converted.Pointers();
  const TimingTrace trace = TimingOfSet(graphs);
  const auto before = DryRun(trace.graph);
  ASSERT_TRUE(before) << before.error().message;
  std::int64_t moved_by_any_ns = 0;
  for (const OpClass op_class : {OpClass::kGemm, OpClass::kElementwise, OpClass::kOptimizer}) {
    TimingGraph halved = trace.graph;
    for (std::uint32_t node = 0; node < halved.size(); ++node) {
      const auto [rank, index] = trace.Locate(node);
      if (graphs[rank]->op_class(index) == op_class &&
          trace.recording.kind[node] != ActorKind::kTransfer) {
        halved.duration_ns[node] -= halved.duration_ns[node] / 2;
      }
    }
    const auto after = DryRun(halved);
    ASSERT_TRUE(after);
    // The old path bounds the gain from above, the new one from below; they are one where the path
    // stays. Halves of odd nanoseconds are rounded.
    const std::int64_t moved_ns = before->makespan_ns - after->makespan_ns;
    const auto rounding_ns = static_cast<std::int64_t>(trace.graph.size());
    EXPECT_LE(moved_ns, OnPath(trace, graphs, trace.graph, *before, op_class) / 2 + rounding_ns);
    EXPECT_GE(moved_ns, OnPath(trace, graphs, halved, *after, op_class) / 2 - rounding_ns);
    moved_by_any_ns = std::max(moved_by_any_ns, moved_ns);
  }
  EXPECT_GT(moved_by_any_ns, before->makespan_ns / 100);
}

TEST_P(RealCapture, RanksAndSetReproduceTheRecording) {
  const Converted converted = Convert(GetParam());
  ASSERT_FALSE(converted.graphs.empty());
  const std::vector<const Graph*> graphs = converted.Pointers();
  for (const Graph* graph : graphs) {
    const auto row = CheckTiming(TimingOfRank(*graph), std::span(&graph, 1), false);
    ASSERT_TRUE(row);
    EXPECT_TRUE(row->Ok()) << (row->details.empty() ? "" : row->details[0]);
  }
  const TimingTrace trace = TimingOfSet(graphs);
  EXPECT_EQ(trace.unmatched_transfers, 0U);
  EXPECT_GT(trace.matched_transfers, 0U);
  const auto row = CheckTiming(trace, graphs, true);
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->Ok()) << (row->details.empty() ? "" : row->details[0]);
}

// Every part of a training step is found, and hardly any of its time in none of them. The backward
// pass of these takes longer than the forward one.
TEST_P(RealCapture, PhasesAreTold) {
  const Converted converted = Convert(GetParam());
  ASSERT_FALSE(converted.graphs.empty());
  for (const Graph& graph : converted.graphs) {
    const std::vector<Phase> phases = FindPhases(graph);
    std::map<Phase, double> time_ns;
    double all_ns = 0;
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (graph.kind(i) == OpKind::kWork || graph.comm(i) != nullptr) {
        time_ns[phases[i]] += static_cast<double>(graph.duration_ns(i));
        all_ns += static_cast<double>(graph.duration_ns(i));
      }
    }
    EXPECT_LT(time_ns[Phase::kOther], 0.04 * all_ns);
    EXPECT_GT(time_ns[Phase::kForward], 0.02 * all_ns);
    EXPECT_GT(time_ns[Phase::kBackward], time_ns[Phase::kForward]);
    EXPECT_GT(time_ns[Phase::kOptimizer], 0.02 * all_ns);
    EXPECT_GT(time_ns[Phase::kCommunication], 0.02 * all_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(Bundled, RealCapture,
                         ::testing::Values("gloo/gpt_ddp4", "gloo_comms/gpt_pp4",
                                           "gloo_comms/gpt_tp4"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise
