// Edges that make overlap, and threads: from the nodes alone.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <vector>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"

namespace reprise {
namespace {

// Nodes of a job of one class, by id.
class Nodes {
 public:
  explicit Nodes(const std::string& rest) {
    Workload w = *ParseWorkload(
        R"({"model": {"family": "llama", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 4,
                      "ffn": 128, "vocab": 256, "sequence": 32},
            "batch": {"global": 1, "micro": 1}, )" +
            rest + "}",
        "test");
    CompleteWorkload(w);
    const auto summary = Generate({.workload = w, .observe = [this](Node& node, const NodeFacts&) {
                                     nodes_.emplace(node.id, node);
                                     return Status{};
                                   }});
    EXPECT_TRUE(summary) << (summary ? "" : summary.error().message);
  }

  [[nodiscard]] const std::map<std::uint64_t, Node>& all() const { return nodes_; }
  [[nodiscard]] std::vector<const Node*> Of(CommKind kind) const {
    std::vector<const Node*> found;
    for (const auto& [id, node] : nodes_) {
      if (node.comm && node.comm->kind == kind && node.comm->group == "tp") {
        found.push_back(&node);
      }
    }
    return found;
  }
  // Whether `later` can start only after `earlier` ended.
  [[nodiscard]] bool Follows(const Node& later, const Node& earlier) const {
    std::set<std::uint64_t> seen;
    std::vector<std::uint64_t> open = {later.id};
    while (!open.empty()) {
      const std::uint64_t at = open.back();
      open.pop_back();
      for (const Dependency& dep : nodes_.at(at).deps) {
        if (dep.node_id == earlier.id) {
          return true;
        }
        if (dep.node_id > earlier.id && seen.insert(dep.node_id).second) {
          open.push_back(dep.node_id);
        }
      }
    }
    return false;
  }
  // The first product that follows the transfer.
  [[nodiscard]] const Node* ProductAfter(const Node& transfer) const {
    for (auto at = nodes_.upper_bound(transfer.id); at != nodes_.end(); ++at) {
      const bool product =
          at->second.op_class == OpClass::kGemm && at->second.actor.kind == Actor::Kind::kStream;
      if (product && Follows(at->second, transfer)) {
        return &at->second;
      }
    }
    return nullptr;
  }

 private:
  std::map<std::uint64_t, Node> nodes_;
};

constexpr char kSequenceParallel[] = R"("layout": {"tp": 2, "sequence_parallel": true})";

TEST(TensorParallelOverlap, ProductsRunBesideTheGathersOfLaterParts) {
  const Nodes nodes(std::string(kSequenceParallel) + R"(, "overlap": ["tp"])");
  const auto gathers = nodes.Of(CommKind::kAllGather);
  ASSERT_GE(gathers.size(), 4U);
  // The first layer's: four parts, each with a product of its own.
  for (std::size_t part = 0; part + 1 < 4; ++part) {
    const Node* product = nodes.ProductAfter(*gathers[part]);
    ASSERT_NE(product, nullptr);
    EXPECT_EQ(product->op, "aten::bmm");
    EXPECT_FALSE(nodes.Follows(*product, *gathers[part + 1]));
    EXPECT_FALSE(nodes.Follows(*gathers[part + 1], *product));
  }
}

TEST(TensorParallelOverlap, ScattersRunBesideLaterProducts) {
  const Nodes nodes(std::string(kSequenceParallel) + R"(, "overlap": ["tp"])");
  const auto scatters = nodes.Of(CommKind::kReduceScatter);
  ASSERT_GE(scatters.size(), 5U);
  std::size_t beside = 0;  // the embedding's is whole; then four parts of the first layer
  for (std::size_t part = 1; part < 4; ++part) {
    for (auto at = nodes.all().upper_bound(scatters[part]->id);
         at != nodes.all().end() && at->first < scatters[part + 1]->id; ++at) {
      const bool product = at->second.op == "aten::mm";
      beside += product && !nodes.Follows(at->second, *scatters[part]) ? 1 : 0;
    }
  }
  EXPECT_EQ(beside, 3U);
}

TEST(TensorParallelOverlap, WithoutItProductsWaitForTheirTransfers) {
  const Nodes nodes(kSequenceParallel);
  for (const Node* gather : nodes.Of(CommKind::kAllGather)) {
    for (auto at = nodes.all().upper_bound(gather->id); at != nodes.all().end(); ++at) {
      if (at->second.actor.kind == Actor::Kind::kStream && !at->second.comm) {
        EXPECT_TRUE(nodes.Follows(at->second, *gather));
        break;
      }
    }
  }
}

TEST(Autograd, HasAThreadOfItsOwnOnGpus) {
  const Nodes nodes(R"("layout": {})");
  std::set<std::int64_t> backward;
  std::size_t links = 0;
  std::size_t handed_over = 0;
  for (const auto& [id, node] : nodes.all()) {
    if (node.actor.kind != Actor::Kind::kThread) {
      continue;
    }
    if (node.parent.find("Backward") != std::string::npos) {
      backward.insert(node.actor.id);
    }
    for (const Dependency& dep : node.deps) {
      const Node& before = nodes.all().at(dep.node_id);
      if (dep.reason == EdgeReason::kFwdBwd) {
        ++links;
        EXPECT_EQ(before.actor.id, 1);
        EXPECT_EQ(node.actor.id, 2);
        EXPECT_EQ(before.seq_id, node.seq_id);
      }
      handed_over += dep.reason == EdgeReason::kThread && before.actor.id != node.actor.id ? 1 : 0;
    }
  }
  EXPECT_EQ(backward, std::set<std::int64_t>{2});
  EXPECT_GT(links, 20U);
  EXPECT_EQ(handed_over, 2U);  // to it, and back
}

TEST(Autograd, RunsOnTheMainThreadOnCpus) {
  const Nodes nodes(R"("layout": {}, "device": "cpu")");
  for (const auto& [id, node] : nodes.all()) {
    EXPECT_TRUE(node.actor.kind != Actor::Kind::kThread || node.actor.id == 1);
    for (const Dependency& dep : node.deps) {
      EXPECT_NE(dep.reason, EdgeReason::kFwdBwd);
    }
  }
}

}  // namespace
}  // namespace reprise
