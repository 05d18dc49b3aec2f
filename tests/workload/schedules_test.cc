// Schedules through the dry run of a generated set: with equal stages and free transfers, the
// bubble is what theory says, to the nanosecond. Folded sets: every rank reads as its expanded
// file.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/timing/dry_run.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "predict/workload/schedule.h"
#include "replayer/plan/timing_graph.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/workload/gradient_transfers.h"
#include "tests/workload/random_jobs.h"

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

Result<Graph> LoadTimed(const std::string& path, std::int64_t forward_ns, std::int64_t backward_ns,
                        std::int64_t weights_ns = 0) {
  REPRISE_ASSIGN(const Graph graph, Graph::Load(path));
  const auto pass_of = [&graph](std::int64_t start_ns) {
    return std::ranges::find_if(graph.metadata().ranges, [start_ns](const Range& range) {
      return (range.name == kWeightsPass || range.name == kBackwardPass) &&
             start_ns >= range.start_ns && start_ns < range.start_ns + range.duration_ns;
    });
  };
  // A backward pass that leaves weights has a product a matrix.
  std::map<std::int64_t, int> products;  // by start of the pass
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const auto pass = pass_of(graph.start_ns(i));
    if (graph.kind(i) == OpKind::kWork && graph.name(i) == "aten::mm" &&
        pass != graph.metadata().ranges.end()) {
      products[pass->start_ns] += 1;
    }
  }
  // A layer has two norms and four matrices: a pass takes its time in these.
  return graph.Rewrite(graph.metadata(), [&](Graph::Index, Node& node) {
    const bool computes = node.kind == OpKind::kWork;
    const auto pass = pass_of(node.start_ns);
    const bool backward = pass != graph.metadata().ranges.end();
    const bool whole = backward && products[pass->start_ns] == 8;
    const bool weight = node.name == "aten::mm" && backward && pass->name == kWeightsPass;
    node.start_ns = 0;
    node.transfer_ns = node.comm ? 0 : -1;
    node.duration_ns = !computes                                ? 0
                       : node.name == "aten::native_layer_norm" ? forward_ns / 2
                       : node.name == "aten::native_layer_norm_backward"
                           ? (backward_ns + (whole ? weights_ns : 0)) / 2
                       : weight ? weights_ns / 4
                                : 0;
    return true;
  });
}

struct Bubble {
  const char* schedule;
  std::int64_t p, batches, chunks;
};

class Schedules : public testing::TestWithParam<std::tuple<Bubble, const char*>> {};

// Of a job whose passes take these times.
void ExpectMakespan(const Workload& w, std::array<std::int64_t, 3> pass_ns, std::int64_t expected) {
  const ScratchDirectory scratch;
  const std::string set = scratch.File("set");
  const auto summary = Generate({.workload = w, .directory = set});
  ASSERT_TRUE(summary) << summary.error().message;
  std::vector<Graph> graphs;
  const auto opened = TraceSet::Open(set);
  ASSERT_TRUE(opened) << opened.error().message;
  for (const auto& [rank, path] : opened->RankPaths()) {
    auto graph = LoadTimed(path, pass_ns[0], pass_ns[1], pass_ns[2]);
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
  EXPECT_EQ(run->makespan_ns, expected);
}

TEST_P(Schedules, BubbleIsWhatTheorySays) {
  const auto& [c, device] = GetParam();
  constexpr std::int64_t kForward = 1000;
  constexpr std::int64_t kBackward = 2600;
  const std::int64_t ideal = c.batches * c.chunks * (kForward + kBackward);
  // (p - 1) / m of the ideal time; interleaved: (p - 1) / (v m).
  ExpectMakespan(Pipeline(c.schedule, c.p, c.batches, c.chunks, device), {kForward, kBackward, 0},
                 ideal + (c.p - 1) * (kForward + kBackward));
}

// Qi et al. 2023, arXiv 2401.10241, section 2.3: (p - 1) (F + B - W) of ZB-H1, if W is no longer
// than F.
TEST(ZeroBubble, BubbleIsWhatTheorySays) {
  for (const auto& [p, batches] :
       {std::pair(2, 2), std::pair(3, 9), std::pair(4, 4), std::pair(4, 8), std::pair(8, 20)}) {
    for (const auto& [f, b, w] : {std::array<std::int64_t, 3>{1000, 1000, 1000},
                                  std::array<std::int64_t, 3>{1000, 1200, 600}}) {
      ExpectMakespan(Pipeline("zb-h1", p, batches, 1, "cuda"), {f, b, w},
                     batches * (f + b + w) + (p - 1) * (f + b - w));
    }
  }
}

// The stage before the last s has p - s micro-batches under way, as with 1F1B, and of s more what
// gradients of weights take: the inputs of four matrices, one of them four times as wide.
TEST(ZeroBubble, KeepsWhatTheFirstStageKeepsWith1f1b) {
  for (const std::int64_t p : {2, 3, 4}) {
    const Workload w = Pipeline("zb-h1", p, 3 * p, 1, "cuda");
    const auto zero = Generate({.workload = w});
    const auto one = Generate({.workload = Pipeline("1f1b", p, 3 * p, 1, "cuda")});
    ASSERT_TRUE(zero && one);
    const std::int64_t of_batch = one->memory.back().bytes.layer_activations;
    const std::int64_t inputs = 7 * w.model.sequence * w.model.hidden * SizeOf(w.model.dtype);
    EXPECT_LT(inputs, of_batch);
    for (std::int64_t s = 0; s < p; ++s) {
      EXPECT_EQ(zero->memory[static_cast<std::size_t>(s)].bytes.layer_activations,
                (p - s) * of_batch + s * inputs)
          << p << " " << s;
    }
    EXPECT_EQ(zero->memory[0].bytes.layer_activations, one->memory[0].bytes.layer_activations);
  }
}

// The same work and transfers as 1F1B, in another order.
TEST(ZeroBubble, DoesTheWorkOf1f1b) {
  RandomJobs jobs(17);
  for (int i = 0; i < 60; ++i) {
    const Workload w = jobs.Sound([&] {
      Workload drawn =
          jobs.Of(jobs.OneOf({0, 1}) == 0 ? R"("family": "llama")"
                                          : R"("family": "qwen3", "experts": 4, "top_k": 2)");
      drawn.layout.pp = jobs.OneOf({2, 4});
      drawn.global_batch = drawn.micro_batch * drawn.layout.dp * jobs.OneOf({1, 3, 6});
      jobs.DrawRecomputation(drawn, {"core_attn"});
      drawn.schedule = "zb-h1";
      CompleteWorkload(drawn);
      return drawn;
    });
    Workload other = w;
    other.schedule = "1f1b";
    const auto zero = Generate({.workload = w});
    const auto one = Generate({.workload = other});
    ASSERT_TRUE(zero && one);
    ASSERT_EQ(zero->model_flops, one->model_flops);
    ASSERT_EQ(zero->executed_flops, one->executed_flops);
    ASSERT_EQ(BytesOf(*zero), BytesOf(*one));
    for (std::size_t stage = 0; stage < zero->memory.size(); ++stage) {
      ASSERT_EQ(zero->memory[stage].bytes.gradients, one->memory[stage].bytes.gradients);
      ASSERT_EQ(zero->memory[stage].bytes.optimizer, one->memory[stage].bytes.optimizer);
      ASSERT_GE(zero->memory[stage].bytes.activations, one->memory[stage].bytes.activations);
    }
  }
}

// With equal passes a stage waits for none, once the first micro-batch has reached it: if there are
// as many as the way to the end and back has chunks.
TEST(VShaped, ZeroBubbleHasNoBubble) {
  for (const auto& [p, batches] :
       {std::pair(2, 3), std::pair(3, 5), std::pair(3, 8), std::pair(4, 7), std::pair(4, 16)}) {
    ExpectMakespan(Pipeline("zb-v", p, batches, 2, "cuda"), {1000, 1000, 1000},
                   2 * batches * 3000 + (p - 1) * 1000);
  }
}

// DeepSeek-V3, arXiv 2412.19437, table 2, has (p - 1) (F&B + B - 3W), with whole backward passes
// and a pair of passes that end together. Here the forward pass of a pair ends before the other
// begins: that is the backward pass of the input less.
TEST(VShaped, DualPipeHasItsBubble) {
  for (const auto& [p, batches] :
       {std::pair(2, 4), std::pair(3, 6), std::pair(4, 8), std::pair(4, 20)}) {
    for (const auto& [f, b, w] : {std::array<std::int64_t, 3>{1000, 1000, 1000},
                                  std::array<std::int64_t, 3>{1000, 1200, 600}}) {
      ExpectMakespan(Pipeline("dualpipe-v", p, batches, 2, "cuda"), {f, b, w},
                     2 * batches * (f + b + w) + (p - 1) * ((f + b + w) + (b + w) - 3 * w - b));
    }
  }
}

// Every stage has as many micro-batches under way as the first one of 1F1B.
TEST(VShaped, StagesKeepEquallyMuch) {
  for (const auto& [name, more] : {std::pair("zb-v", 0), std::pair("dualpipe-v", 1)}) {
    constexpr std::int64_t kStages = 4;
    for (std::int64_t stage = 0; stage < kStages; ++stage) {
      std::int64_t under_way = 0;
      std::int64_t most = 0;
      for (const Pass& pass : FindSchedule(name)->passes(stage, kStages, 16, 2)) {
        under_way += pass.forward ? 1 : pass.of_weights ? 0 : -1;
        most = std::max(most, under_way);
      }
      EXPECT_EQ(most, 2 * kStages + more) << name << " " << stage;
    }
  }
}

// The same work as 1F1B; the turn of the V needs no transfer, and both ends share what they may.
TEST(VShaped, DoesTheWorkOf1f1b) {
  RandomJobs jobs(23);
  for (int i = 0; i < 40; ++i) {
    const Workload w = jobs.Sound([&] {
      Workload drawn =
          jobs.Of(std::array{R"("family": "llama")", R"("family": "gpt")",
                             R"("family": "llama", "tied_embeddings": true)",
                             R"("family": "qwen3", "experts": 4, "top_k": 2, "mtp_layers": 1)"}
                      [static_cast<std::size_t>(jobs.OneOf({0, 1, 2, 3}))]);
      drawn.layout.pp = 2;
      drawn.global_batch = drawn.micro_batch * drawn.layout.dp * jobs.OneOf({4, 6});
      jobs.DrawRecomputation(drawn, {"core_attn"});
      drawn.schedule = jobs.OneOf({0, 1}) == 0 ? "zb-v" : "dualpipe-v";
      drawn.virtual_stages = 2;
      CompleteWorkload(drawn);
      return drawn;
    });
    Workload other = w;
    other.schedule = "1f1b";
    other.virtual_stages = 1;
    const auto v = Generate({.workload = w});
    const auto one = Generate({.workload = other});
    ASSERT_TRUE(v && one);
    ASSERT_EQ(v->model_flops, one->model_flops);
    ASSERT_EQ(v->executed_flops, one->executed_flops);
    ASSERT_EQ(CountParameters(w), CountParameters(other));
    std::int64_t parameters = 0;
    for (const StageMemory& stage : v->memory) {
      parameters += stage.bytes.parameters;
    }
    if (w.layout.tp == 1 && w.layout.ep == 1 && !w.layout.fsdp) {
      ASSERT_EQ(parameters, v->parameters * SizeOf(w.model.dtype));
    }
    const auto sent_bytes = [](const GenerateSummary& of) {
      std::int64_t sum = 0;
      for (const TransferRow& row : of.transfers) {
        sum += row.kind == "send" ? row.sums.bytes : 0;
      }
      return sum;
    };
    ASSERT_EQ(sent_bytes(*v), 2 * sent_bytes(*one));
    ASSERT_EQ(std::ranges::count(v->transfers, "embd", &TransferRow::group), 0);
  }
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
    const std::int64_t chunks = schedule.name == "interleaved" ? 3 : schedule.v_shaped ? 2 : 1;
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      std::set<std::pair<std::int64_t, std::int64_t>> forward;
      std::set<std::pair<std::int64_t, std::int64_t>> backward;
      std::set<std::pair<std::int64_t, std::int64_t>> left;
      std::set<std::pair<std::int64_t, std::int64_t>> weights;
      for (const Pass& pass : schedule.passes(stage, 4, 8, chunks)) {
        if (pass.of_weights) {
          EXPECT_TRUE(left.contains({pass.chunk, pass.batch}));
          EXPECT_TRUE(weights.insert({pass.chunk, pass.batch}).second);
          continue;
        }
        auto& seen = pass.forward ? forward : backward;
        EXPECT_TRUE(seen.insert({pass.chunk, pass.batch}).second);
        EXPECT_TRUE(pass.forward || forward.contains({pass.chunk, pass.batch}));
        if (pass.leaves_weights) {
          left.emplace(pass.chunk, pass.batch);
        }
      }
      EXPECT_EQ(forward.size(), 8 * chunks);
      EXPECT_EQ(backward, forward);
      EXPECT_EQ(weights, left);
      EXPECT_EQ(left.size(), schedule.name.starts_with("zb-") ? forward.size() : left.size());
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
