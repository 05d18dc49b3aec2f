// Context parallelism: what a causal mask leaves of attention, rank by rank, and memory.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/costs/cost.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "tests/workload/random_jobs.h"

namespace reprise {
namespace {

using testing::HasSubstr;

constexpr ContextComm kCommTypes[] = {ContextComm::kRing, ContextComm::kAllGather,
                                      ContextComm::kAllToAll};

// What attention takes of each class of ranks, as predictions count it.
std::vector<double> AttentionFlopsOf(const Workload& w) {
  std::vector<double> sums;
  std::uint64_t last = ~std::uint64_t{0};
  GenerateRequest request{.workload = w};
  request.observe = [&](Node& node, const NodeFacts&) -> Status {
    if (node.id <= last) {  // a class begins
      sums.push_back(0);
    }
    last = node.id;
    if (node.op_class == OpClass::kAttention && node.kind == OpKind::kWork) {
      const OpCall call{node.op.empty() ? node.name : node.op, node.inputs, node.outputs};
      EXPECT_TRUE(HasCostRule(call)) << call.name;
      sums.back() += CostOf(call).flops;
    }
    return {};
  };
  const auto summary = Generate(request);
  EXPECT_TRUE(summary) << (summary ? "" : summary.error().message);
  return sums;
}

Workload Drawn(RandomJobs& jobs, ContextComm comm) {
  Workload w = jobs.Of(R"("family": "llama", "kv_heads": 8, "fused_qkv": false)");
  Layout& l = w.layout;
  l.tp = jobs.OneOf({1, 2});
  l.sequence_parallel = l.tp > 1 && l.sequence_parallel;
  l.cp = jobs.OneOf({2, 4});
  l.cp_comm_type = comm;
  w.model.causal = jobs.OneOf({0, 1, 1}) == 1;
  w.model.window = w.model.causal && comm != ContextComm::kRing ? jobs.OneOf({0, 5, 40, 100}) : 0;
  CompleteWorkload(w);
  return w;
}

// Pairs of a query and a key of one head and sequence, counted one by one.
double PairsOfSequence(const Workload& w) {
  const ModelShape& m = w.model;
  double pairs = 0;
  for (const std::int64_t tokens :
       w.documents.empty() ? std::vector<std::int64_t>{m.sequence} : w.documents) {
    for (std::int64_t query = 0; query < tokens; ++query) {
      const std::int64_t keys = m.causal ? query + 1 : tokens;
      pairs += static_cast<double>(m.window > 0 ? std::min(keys, m.window) : keys);
    }
  }
  return pairs;
}

TEST(ContextParallel, RanksShareWhatTheMaskLeaves) {
  RandomJobs jobs(11);
  for (const ContextComm comm : kCommTypes) {
    for (int i = 0; i < 60; ++i) {
      const Workload w = jobs.Sound([&] { return Drawn(jobs, comm); });
      const Layout& l = w.layout;
      const ModelShape& m = w.model;
      // Forward 4 products of a head's features and 5 operations; backward 10 and 5.
      const double each = 14 * static_cast<double>(m.head_size) + 10;
      const double ranks_of_layer = static_cast<double>(l.tp * l.cp * l.dp);
      const double layers = static_cast<double>(m.layers) / static_cast<double>(l.pp);
      const double expected = PairsOfSequence(w) * static_cast<double>(w.global_batch * m.heads) *
                              layers * each / ranks_of_layer;
      const std::vector<double> flops = AttentionFlopsOf(w);
      ASSERT_FALSE(flops.empty());
      double sum = 0;
      for (const double of_class : flops) {
        sum += of_class;
        if (m.window == 0) {  // a window leaves less of the first chunk than of the others
          ASSERT_NEAR(of_class / expected, 1, 1e-12) << Name(comm) << " cp " << l.cp;
        }
      }
      ASSERT_NEAR(sum / (expected * static_cast<double>(flops.size())), 1, 1e-12)
          << Name(comm) << " cp " << l.cp << " window " << m.window;
    }
  }
}

// A rank keeps what it would of a sequence of its own length. By a2a attention's output travels:
// what attention keeps and what the next product keeps are two tensors.
TEST(ContextParallel, KeepsTheActivationsOfARanksTokens) {
  RandomJobs jobs(5);
  for (const ContextComm comm : kCommTypes) {
    for (int i = 0; i < 60; ++i) {
      const Workload w = jobs.Sound([&] {
        Workload drawn = Drawn(jobs, comm);
        drawn.model.window = 0;
        drawn.layout.fsdp = false;
        return drawn;
      });
      Workload alone = w;
      alone.layout.cp = 1;
      alone.model.sequence = w.model.sequence / w.layout.cp;
      const auto divided = Generate({.workload = w});
      const auto whole = Generate({.workload = alone});
      ASSERT_TRUE(divided && whole);
      const std::int64_t tokens = alone.model.sequence * w.micro_batch;
      const std::int64_t output =
          comm == ContextComm::kAllToAll
              ? tokens * w.model.hidden / w.layout.tp * SizeOf(w.model.dtype)
              : 0;
      const std::int64_t layers = w.model.layers / w.layout.pp;
      for (std::size_t stage = 0; stage < divided->memory.size(); ++stage) {
        const std::int64_t in_flight = std::min<std::int64_t>(
            w.micro_batches(), w.layout.pp - static_cast<std::int64_t>(stage));
        ASSERT_EQ(divided->memory[stage].bytes.layer_activations -
                      whole->memory[stage].bytes.layer_activations,
                  in_flight * layers * output)
            << Name(comm) << " stage " << stage;
      }
    }
  }
}

// A token sees those of its own document.
TEST(Documents, AttentionIsThatOfEach) {
  RandomJobs jobs(31);
  for (int i = 0; i < 60; ++i) {
    const Workload w = jobs.Sound([&] {
      Workload drawn = Drawn(jobs, ContextComm::kAllToAll);
      drawn.layout.cp = jobs.OneOf({1, 2});
      drawn.micro_batch = 1;
      drawn.global_batch = 2 * drawn.layout.dp;
      for (std::int64_t left = drawn.model.sequence; left > 0; left -= drawn.documents.back()) {
        drawn.documents.push_back(std::min(left, jobs.OneOf({1, 3, 8, 30})));
      }
      return drawn;
    });
    const Layout& l = w.layout;
    const double each = 14 * static_cast<double>(w.model.head_size) + 10;
    const double expected = PairsOfSequence(w) *
                            static_cast<double>(w.global_batch * w.model.heads * w.model.layers) *
                            each / static_cast<double>(l.ranks());
    for (const double of_class : AttentionFlopsOf(w)) {
      ASSERT_NEAR(of_class / expected, 1, 1e-12) << w.documents.size() << " " << w.model.window;
    }
  }
}

TEST(Documents, AreDrawnByTheirMeanAndSeed) {
  const auto drawn = [](std::int64_t mean, std::uint64_t seed) {
    Workload w = *ReadWorkload("llama-small");
    w.model.sequence = 1 << 20;
    w.document_length = mean;
    w.routing.seed = seed;
    CompleteWorkload(w);
    return w.documents;
  };
  const std::vector<std::int64_t> documents = drawn(1000, 1);
  std::int64_t sum = 0;
  double squares = 0;
  for (const std::int64_t tokens : documents) {
    sum += tokens;
    squares += static_cast<double>(tokens) * static_cast<double>(tokens);
  }
  EXPECT_EQ(sum, 1 << 20);
  EXPECT_THAT(documents, testing::Each(testing::Gt(0)));
  // About 1049 of them: a mean is off by 3 % of itself, that of squares, 2 000 000, by 7 %.
  const auto count = static_cast<double>(documents.size());
  EXPECT_NEAR(static_cast<double>(sum) / count, 1000, 4 * 31);
  EXPECT_NEAR(squares / count, 2e6, 4 * 0.07 * 2e6);
  EXPECT_EQ(drawn(1000, 1), documents);
  EXPECT_NE(drawn(1000, 2), documents);
  EXPECT_EQ(drawn(1 << 30, 1).size(), 1);
}

TEST(ContextParallel, RanksOfA2aAreAlike) {
  RandomJobs jobs(3);
  Workload w = jobs.Of(R"("family": "llama")");
  w.layout = {.cp = 4};
  w.micro_batch = w.global_batch = 1;
  CompleteWorkload(w);
  EXPECT_EQ(PlanRanks(w).classes.size(), 4);
  w.layout.cp_comm_type = ContextComm::kAllToAll;
  EXPECT_EQ(PlanRanks(w).classes.size(), 1);
}

// What the ring does not know, the others may.
TEST(ContextParallel, KindsOfAttention) {
  const auto checked = [](const std::string& model, const std::string& comm) {
    Workload w = *ParseWorkload(R"({"model": {"layers": 2, "hidden": 64, "heads": 4, "ffn": 128,
        "vocab": 64, "sequence": 32, )" +
                                    model + R"(}, "batch": {"global": 2, "micro": 1},
        "layout": {"cp": 2, "cp_comm_type": ")" +
                                    comm + R"("}})",
                                "test");
    CompleteWorkload(w);
    return static_cast<bool>(Generate({.workload = w}));
  };
  const std::string window = R"("family": "llama", "window": 8)";
  const std::string latent =
      R"("family": "deepseek", "kv_rank": 16, "rotary_size": 8, "value_size": 8)";
  const std::string unfused = R"("family": "bloom")";
  EXPECT_FALSE(checked(window, "p2p"));
  EXPECT_TRUE(checked(window, "all_gather"));
  EXPECT_TRUE(checked(window, "a2a"));
  for (const std::string& model : {latent, unfused}) {
    EXPECT_FALSE(checked(model, "p2p"));
    EXPECT_FALSE(checked(model, "all_gather"));
    EXPECT_TRUE(checked(model, "a2a"));
  }
  EXPECT_THAT(ParseWorkload(R"({"layout": {"cp_comm_type": "allgather"}})", "x").error().message,
              HasSubstr("expected p2p (a ring), all_gather (keys and values gathered) or a2a"));
}

}  // namespace
}  // namespace reprise
