#include "core/timing/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/timing/graph_builder.h"

namespace reprise {
namespace {

// A recorded node; the graph's delays and durations follow from it.
struct Recorded {
  std::int64_t start_ns, end_ns;
  std::int32_t actor;
  ActorKind kind;
  std::vector<std::uint32_t> deps;
  bool wait = false;
  std::int32_t rank = 0;
  std::int32_t match = -1;
  bool root = false;
  CommKind comm = CommKind::kAllReduce;
};

struct Case {
  TimingGraph graph;
  Recording recording;
};

Case MakeCase(const std::vector<Recorded>& nodes) {
  Case made;
  std::vector<TestNode> graph;
  for (const Recorded& node : nodes) {
    std::int64_t latest_ns = 0;
    for (const std::uint32_t dep : node.deps) {
      latest_ns = std::max(latest_ns, nodes[dep].end_ns);
    }
    graph.push_back(
        {node.start_ns - latest_ns, node.end_ns - node.start_ns, node.deps, node.match});
    graph.back().root = node.root;
    made.recording.start_ns.push_back(node.start_ns);
    made.recording.end_ns.push_back(node.end_ns);
    made.recording.actor.push_back(node.actor);
    made.recording.kind.push_back(node.kind);
    made.recording.is_wait.push_back(node.wait ? 1 : 0);
    made.recording.rank.push_back(node.rank);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].match < 0) continue;
    std::vector<TransferMember> members;
    std::size_t self = 0;
    for (const Recorded& node : nodes) {
      if (node.match == nodes[i].match) {
        self = &node == &nodes[i] ? members.size() : self;
        members.push_back({node.start_ns, node.end_ns, node.comm, node.root});
      }
    }
    const TransferPart part = SplitTransfer(members)[self];
    graph[i].transfer_ns = part.transfer_ns;
    graph[i].need = part.need;
  }
  made.graph = MakeGraph(graph);
  return made;
}

Explanation ExplainCase(const Case& made) {
  const auto explanation = Explain(made.graph, made.recording);
  EXPECT_TRUE(explanation) << explanation.error().message;
  return *explanation;
}

constexpr auto kThread = ActorKind::kThread;
constexpr auto kStream = ActorKind::kStream;
constexpr auto kTransfer = ActorKind::kTransfer;
constexpr std::int64_t kUs = 1000;

// Thread: issue (0–10 us), other work (12–40 us), then quiet until a transfer (10–900 us) is done,
// then work from 950 us on.
std::vector<Recorded> AsynchronousTransfer(bool with_edge) {
  std::vector<Recorded> nodes = {
      {0, 10 * kUs, 0, kThread, {}},
      {10 * kUs, 900 * kUs, 1, kTransfer, {0}},
      {12 * kUs, 40 * kUs, 0, kThread, {0}},
      {950 * kUs, 990 * kUs, 0, kThread, {2}},
  };
  if (with_edge) nodes[3].deps.push_back(1);
  return nodes;
}

TEST(Explain, CoveredEndIsWakeup) {
  const Explanation explanation = ExplainCase(MakeCase(AsynchronousTransfer(true)));
  ASSERT_EQ(explanation.ranks.size(), 1U);
  EXPECT_EQ(explanation.ranks[0].unexplained_ns, 0);
  EXPECT_EQ(explanation.ranks[0].wakeup_ns, 50 * kUs);
  EXPECT_EQ(explanation.ranks[0].violated_edges, 0U);
}

TEST(Explain, RemovingTheEdgeLeavesAllOfTheGapUnexplained) {
  const Explanation explanation = ExplainCase(MakeCase(AsynchronousTransfer(false)));
  EXPECT_EQ(explanation.ranks[0].unexplained_ns, 910 * kUs);
  EXPECT_EQ(explanation.ranks[0].wakeup_ns, 0);
  ASSERT_EQ(explanation.unexplained.size(), 1U);
  EXPECT_EQ(explanation.unexplained[0].node, 3U);
  EXPECT_EQ(explanation.unexplained[0].ended, 1U);
}

TEST(Explain, TransitiveDependenciesCover) {
  // The transfer's end is followed by another thread's node on which node 3 depends.
  std::vector<Recorded> nodes = AsynchronousTransfer(false);
  nodes.push_back({905 * kUs, 945 * kUs, 2, kThread, {1}});
  nodes[3].deps.push_back(4);
  const Explanation explanation = ExplainCase(MakeCase(nodes));
  EXPECT_EQ(explanation.ranks[0].unexplained_ns, 0);
  EXPECT_EQ(explanation.ranks[0].wakeup_ns, (5 + 5) * kUs);
}

TEST(Explain, QuietHostAloneIsItsOwnTime) {
  std::vector<Recorded> nodes = AsynchronousTransfer(false);
  nodes[1].end_ns = 30 * kUs;  // ends while the thread works, not while it is quiet
  EXPECT_EQ(ExplainCase(MakeCase(nodes)).ranks[0].unexplained_ns, 0);
}

TEST(Explain, ShortHostGapsAreNotForgiven) {
  std::vector<Recorded> nodes = AsynchronousTransfer(false);
  nodes[1].end_ns = 60 * kUs;
  nodes[3].start_ns = 80 * kUs;
  EXPECT_EQ(ExplainCase(MakeCase(nodes)).ranks[0].unexplained_ns, 40 * kUs);
}

TEST(Explain, WaitsAreJudgedByTheirDurationToo) {
  // A wait from 42 to 910 us. With its edge it starts, in effect, at the transfer's end.
  std::vector<Recorded> with = AsynchronousTransfer(false);
  with[3] = {900 * kUs, 910 * kUs, 0, kThread, {2, 1}, true};
  const Explanation covered = ExplainCase(MakeCase(with));
  EXPECT_EQ(covered.ranks[0].unexplained_ns, 0);
  EXPECT_EQ(covered.ranks[0].wakeup_ns, 10 * kUs);
  std::vector<Recorded> without = with;
  without[3] = {42 * kUs, 910 * kUs, 0, kThread, {2}, true};
  EXPECT_EQ(ExplainCase(MakeCase(without)).ranks[0].unexplained_ns, 868 * kUs);
}

TEST(Explain, DelayAfterAWaitOfNoLengthIsWakeup) {
  // A wait concluded from the host's quiet ends with the transfer; the next node starts 50 us
  // later.
  std::vector<Recorded> nodes = AsynchronousTransfer(false);
  nodes.push_back({900 * kUs, 900 * kUs, 0, kThread, {2, 1}, true});
  nodes[3].deps = {4};
  const Explanation explanation = ExplainCase(MakeCase(nodes));
  EXPECT_EQ(explanation.ranks[0].wakeup_ns, 50 * kUs);
  EXPECT_EQ(explanation.ranks[0].unexplained_ns, 0);
  nodes[4].deps = {2};  // without the transfer's edge
  EXPECT_EQ(ExplainCase(MakeCase(nodes)).ranks[0].unexplained_ns, 860 * kUs);
}

TEST(Explain, ThreadWithoutAnyDependencyOwesItsStart) {
  const Explanation explanation = ExplainCase(MakeCase({
      {100 * kUs, 300 * kUs, 0, kThread, {}},
      {400 * kUs, 500 * kUs, 1, kThread, {}},  // woken by nobody?
  }));
  EXPECT_EQ(explanation.ranks[0].unexplained_ns, 300 * kUs);
}

// 40 kernels launched onto an idle stream, 8 us after the launch each; the last one 108 us after.
// A copy on another stream ends in that gap.
std::vector<Recorded> LaunchedKernels() {
  std::vector<Recorded> nodes;
  for (std::uint32_t i = 0; i < 80; i += 2) {
    const std::int64_t at = i * 500 * kUs;
    const std::int64_t late = i == 78 ? 100 * kUs : 0;
    nodes.push_back({at, at + 5 * kUs, 0, kThread, {}});
    nodes.push_back({at + 13 * kUs + late, at + 200 * kUs, 1, kStream, {i}});
    if (i > 0) {
      nodes[i].deps.push_back(i - 2);
      nodes[i + 1].deps.push_back(i - 1);
    }
  }
  const std::int64_t last = 39'000 * kUs;
  nodes.push_back({13 * kUs, last + 110 * kUs, 2, kStream, {0}});
  return nodes;
}

TEST(Explain, StreamsAreForgivenTheirLaunchLatency) {
  std::vector<Recorded> nodes = LaunchedKernels();
  const Explanation explanation = ExplainCase(MakeCase(nodes));
  EXPECT_EQ(explanation.ranks[0].launch_latency_ns, 8 * kUs);
  EXPECT_EQ(explanation.ranks[0].unexplained_ns, 100 * kUs);
  nodes[79].deps.push_back(80);
  EXPECT_EQ(ExplainCase(MakeCase(nodes)).ranks[0].unexplained_ns, 0);
}

TEST(Explain, ThreadLearnsOfDeviceNodesOnlyThroughWaits) {
  // Kernels end in every gap of the thread above: the host runs ahead and does not wait. A wait in
  // such a gap, without an edge from the kernel, is another matter.
  std::vector<Recorded> nodes = LaunchedKernels();
  nodes.back().start_ns = 39'113 * kUs;  // no copy in the last kernel's gap
  nodes.back().end_ns = 39'150 * kUs;
  nodes.back().deps = {78};
  EXPECT_EQ(ExplainCase(MakeCase(nodes)).ranks[0].unexplained_ns, 0);
  nodes.push_back({39'120 * kUs, 39'205 * kUs, 0, kThread, {78}, true});
  EXPECT_EQ(ExplainCase(MakeCase(nodes)).ranks[0].unexplained_ns, 85 * kUs);
}

TEST(Explain, ViolatedEdgesAreCountedAndNamed) {
  std::vector<Recorded> nodes = AsynchronousTransfer(true);
  nodes[1].end_ns = 960 * kUs;
  const Explanation explanation = ExplainCase(MakeCase(nodes));
  EXPECT_EQ(explanation.ranks[0].violated_edges, 1U);
  ASSERT_EQ(explanation.violated.size(), 1U);
  EXPECT_EQ(explanation.violated[0].from, 1U);
  EXPECT_EQ(explanation.violated[0].to, 3U);
  EXPECT_EQ(explanation.violated[0].by_ns, 10 * kUs);
  std::vector<Recorded> backwards = {{10, 4, 0, kThread, {}, true}};
  EXPECT_EQ(ExplainCase(MakeCase(backwards)).ranks[0].violated_edges, 1U);
}

TEST(Explain, BetweenRanksClockUncertaintyExplainsViolations) {
  // Rank 1's receive ends 30 us before rank 0's send starts.
  Case made = MakeCase({
      {100 * kUs, 200 * kUs, 0, kTransfer, {}, false, 0, 0, true, CommKind::kSend},
      {10 * kUs, 70 * kUs, 1, kTransfer, {}, false, 1, 0, false, CommKind::kRecv},
  });
  EXPECT_EQ(ExplainCase(made).ranks[1].violated_edges, 1U);
  made.recording.clock_uncertainty_ns = {0, 29 * kUs};
  EXPECT_EQ(ExplainCase(made).ranks[1].violated_edges, 1U);
  made.recording.clock_uncertainty_ns = {0, 30 * kUs};
  const Explanation explained = ExplainCase(made);
  EXPECT_EQ(explained.ranks[1].violated_edges, 0U);
  EXPECT_EQ(explained.ranks[1].clock_errors, 1U);
}

TEST(Explain, OtherRanksEndsAreNoCandidates) {
  std::vector<Recorded> nodes = AsynchronousTransfer(false);
  nodes[1].rank = 1;
  nodes[1].deps.clear();
  EXPECT_EQ(ExplainCase(MakeCase(nodes)).ranks[0].unexplained_ns, 0);
}

TEST(Explain, ArraysThatDoNotFitAreRefused) {
  Case made = MakeCase(AsynchronousTransfer(true));
  made.recording.actor.pop_back();
  EXPECT_FALSE(Explain(made.graph, made.recording));
}

}  // namespace
}  // namespace reprise
