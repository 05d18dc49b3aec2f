// Schedules through the dry run of a generated set: with equal stages and free transfers, the
// bubble is what theory says, to the nanosecond. Folded sets: every rank reads as its expanded
// file.
#include <gmock/gmock.h>

#include "core/timing/dry_run.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "predict/workload/schedule.h"
#include "replayer/plan/timing_graph.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using testing::HasSubstr;

Workload Pipeline(const std::string& schedule, std::int64_t p, std::int64_t batches,
                  std::int64_t chunks, const std::string& device) {
  Workload w = *ReadWorkload("gpt-small");
  w.schedule = schedule;
  w.virtual_stages = chunks;
  w.layout = {.pp = p};
  w.model.layers = p * chunks;  // one a chunk
  w.micro_batch = 1;
  w.global_batch = batches;
  w.device = device;
  w.layers_only = true;
  CompleteWorkload(w);
  return w;
}

Result<Graph> LoadTimed(const std::string& path, std::int64_t forward_ns,
                        std::int64_t backward_ns) {
  REPRISE_ASSIGN(const Graph graph, Graph::Load(path));
  // A layer has two norms: a pass takes its time in these.
  return graph.Rewrite(graph.metadata(), [&](Graph::Index, Node& node) {
    const bool computes = node.kind == OpKind::kWork;
    node.start_ns = 0;
    node.transfer_ns = node.comm ? 0 : -1;
    node.duration_ns = !computes                                         ? 0
                       : node.name == "aten::native_layer_norm"          ? forward_ns / 2
                       : node.name == "aten::native_layer_norm_backward" ? backward_ns / 2
                                                                         : 0;
    return true;
  });
}

struct Bubble {
  const char* schedule;
  std::int64_t p, batches, chunks;
};

class Schedules : public testing::TestWithParam<std::tuple<Bubble, const char*>> {};

TEST_P(Schedules, BubbleIsWhatTheorySays) {
  const auto& [c, device] = GetParam();
  const ScratchDirectory scratch;
  const std::string set = scratch.File("set");
  const auto summary = Generate(
      {.workload = Pipeline(c.schedule, c.p, c.batches, c.chunks, device), .directory = set});
  ASSERT_TRUE(summary) << summary.error().message;
  constexpr std::int64_t kForward = 1000;
  constexpr std::int64_t kBackward = 2600;
  std::vector<Graph> graphs;
  const auto opened = TraceSet::Open(set);
  ASSERT_TRUE(opened) << opened.error().message;
  for (const auto& [rank, path] : opened->RankPaths()) {
    auto graph = LoadTimed(path, kForward, kBackward);
    ASSERT_TRUE(graph) << graph.error().message;
    graphs.push_back(std::move(*graph));
  }
  std::vector<const Graph*> all;
  all.reserve(graphs.size());
  for (const Graph& graph : graphs) {
    all.push_back(&graph);
  }
  const TimingTrace trace = TimingOfSet(all);
  EXPECT_EQ(trace.unmatched_transfers, 0);
  const auto run = DryRun(trace.graph);
  ASSERT_TRUE(run) << run.error().message;
  const std::int64_t ideal = c.batches * c.chunks * (kForward + kBackward);
  // (p - 1) / m of the ideal time; interleaved: (p - 1) / (v m).
  EXPECT_EQ(run->makespan_ns, ideal + (c.p - 1) * (kForward + kBackward));
}

INSTANTIATE_TEST_SUITE_P(
    All, Schedules,
    testing::Combine(testing::Values(Bubble{"gpipe", 2, 4, 1}, Bubble{"gpipe", 4, 8, 1},
                                     Bubble{"1f1b", 2, 2, 1}, Bubble{"1f1b", 4, 8, 1},
                                     Bubble{"1f1b", 8, 8, 1}, Bubble{"1f1b", 3, 9, 1},
                                     Bubble{"interleaved", 2, 4, 2}, Bubble{"interleaved", 4, 8, 2},
                                     Bubble{"interleaved", 4, 4, 3},
                                     Bubble{"interleaved", 3, 9, 4}),
                     testing::Values("cuda")));

TEST(Schedule, PassesAreCompleteAndInOrder) {
  for (const PipelineSchedule& schedule : BuiltinSchedules()) {
    const std::int64_t chunks = schedule.name == "interleaved" ? 3 : 1;
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      std::set<std::pair<std::int64_t, std::int64_t>> forward;
      std::set<std::pair<std::int64_t, std::int64_t>> backward;
      for (const Pass& pass : schedule.passes(stage, 4, 8, chunks)) {
        auto& seen = pass.forward ? forward : backward;
        EXPECT_TRUE(seen.insert({pass.chunk, pass.batch}).second);
        EXPECT_TRUE(pass.forward || forward.contains({pass.chunk, pass.batch}));
      }
      EXPECT_EQ(forward.size(), 8 * chunks);
      EXPECT_EQ(backward, forward);
    }
  }
}

std::vector<Node> NodesOf(const std::string& path) {
  const auto reader = EtReader::Open(path);
  EXPECT_TRUE(reader) << reader.error().message;
  std::vector<Node> nodes;
  Node node;
  while (*(*reader)->Next(node)) {
    nodes.push_back(node);
  }
  return nodes;
}

TEST(Schedule, HostWaitsForTheDeviceAfterEachPassAndReceive) {
  for (const bool synchronize : {false, true}) {
    const ScratchDirectory scratch;
    const std::string set = scratch.File("set");
    constexpr std::int64_t kBatches = 4;
    Workload w = Pipeline("1f1b", 2, kBatches, 1, "cuda");
    w.synchronize = synchronize;
    ASSERT_TRUE(Generate({.workload = w, .directory = set, .expand = true}));
    const auto opened = TraceSet::Open(set);
    ASSERT_TRUE(opened) << opened.error().message;
    for (const auto& [rank, path] : opened->RankPaths()) {
      std::int64_t waits = 0;
      std::int64_t for_receives = 0;
      std::set<std::uint64_t> receives;
      for (const Node& node : NodesOf(path)) {
        if (node.comm && node.comm->kind == CommKind::kRecv) {
          receives.insert(node.id);
        }
        const bool waited = node.name == "cudaStreamSynchronize";
        waits += waited ? 1 : 0;
        for (const Dependency& dependency : node.deps) {
          for_receives += waited && receives.contains(dependency.node_id) ? 1 : 0;
        }
      }
      EXPECT_EQ(waits, synchronize ? 3 * kBatches : 0);  // forward, backward, one receive
      EXPECT_EQ(for_receives, synchronize ? kBatches : 0);
    }
  }
}

TEST(FoldedSets, EveryRankReadsAsItsExpandedFile) {
  for (const char* preset : {"gpt-small", "llama-small", "mixtral-small", "dlrm-small",
                             "qwen3-moe-small", "deepseek-small", "gpt-oss-small"}) {
    const ScratchDirectory scratch;
    GenerateRequest request{.workload = *ReadWorkload(preset), .directory = scratch.File("folded")};
    CompleteWorkload(request.workload);
    ASSERT_TRUE(Generate(request));
    request.directory = scratch.File("expanded");
    request.expand = true;
    ASSERT_TRUE(Generate(request));
    const auto folded = TraceSet::Open(scratch.File("folded"));
    const auto expanded = TraceSet::Open(scratch.File("expanded"));
    ASSERT_TRUE(folded && expanded);
    EXPECT_NE(folded->classes, nullptr);
    EXPECT_EQ(folded->world_size, expanded->world_size);
    EXPECT_EQ(folded->Groups(), expanded->Groups());
    EXPECT_TRUE(*folded->Verify());
    for (const auto& [rank, path] : folded->RankPaths()) {
      EXPECT_TRUE(folded->VerifyFile(rank));
      EXPECT_EQ(NodesOf(path), NodesOf(expanded->RankPath(rank)));
      EXPECT_EQ((*EtReader::Open(path))->metadata().rank, rank);
    }
    // A class is never taken for a rank.
    const std::string file = scratch.File("folded/" + folded->classes->classes()[0].file);
    const auto opened = EtReader::Open(file);
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("is no rank's trace; name a rank"));
  }
}

}  // namespace
}  // namespace reprise
