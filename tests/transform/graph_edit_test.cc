// One rank's trace as rules change it: edges, transfers, times.
#include "predict/transform/graph_edit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A thread launches kernels on stream 7 and transfers on stream 20, one launch a node:
//   thread 1:    1  2  3  4  5
//   stream 7:   11     13    15
//   stream 20:     12     14
// 13 waits for 12 by an event.
class GraphEditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t i = 1; i <= 5; ++i) {
      Node launch{.id = i,
                  .name = "cudaLaunchKernel",
                  .type = NodeType::kComp,
                  .actor = {Actor::Kind::kThread, 1, -1}};
      launch.kind = OpKind::kMetadata;
      launch.start_ns = static_cast<std::int64_t>(i) * 100;
      launch.duration_ns = 10;
      launch.delay_ns = i == 1 ? 100 : 90;
      if (i > 1) {
        launch.deps = {{i - 1, EdgeReason::kThread}};
      }
      nodes_.push_back(launch);
      const bool transfer = i % 2 == 0;
      Node work{.id = 10 + i,
                .name = transfer ? "nccl" : "kernel",
                .type = transfer ? NodeType::kCommColl : NodeType::kComp,
                .actor = {Actor::Kind::kStream, transfer ? 20 : 7, 0},
                .deps = {{i, EdgeReason::kLaunch}}};
      work.start_ns = static_cast<std::int64_t>(i) * 100 + 20;
      work.duration_ns = 150;
      work.delay_ns = 10;
      work.op_class = transfer ? OpClass::kComm : i == 5 ? OpClass::kNorm : OpClass::kGemm;
      if (i > 2) {
        work.deps.push_back({8 + i, EdgeReason::kStream});
      }
      if (transfer) {
        work.kind = OpKind::kComm;
        work.transfer_ns = 100;
        work.comm = CommSpec{
            .group = "1", .index = static_cast<std::int64_t>(i) / 2 - 1, .dtype = DType::kFloat32};
        work.comm->in_bytes = work.comm->out_bytes = 4'000;
      }
      nodes_.push_back(work);
    }
    Find(13).deps.push_back({12, EdgeReason::kEvent});
  }

  Node& Find(std::uint64_t id) { return *std::ranges::find(nodes_, id, &Node::id); }

  // What the rules leave, by id.
  std::map<std::uint64_t, Node> Edit(const std::vector<std::string>& texts,
                                     GraphEdit::Times times = GraphEdit::Times::kInNodes) {
    rules_.clear();
    for (const std::string& text : texts) {
      rules_.push_back(*ParseRule(text, ""));
    }
    effects_.assign(rules_.size(), {});
    graph_.emplace(*Graph::Build({}, nodes_));
    auto edit = GraphEdit::Create(*graph_, 0, rules_, kGroups, times, effects_);
    EXPECT_TRUE(edit) << (edit ? "" : edit.error().message);
    std::map<std::uint64_t, Node> out;
    for (Graph::Index i = 0; i < graph_->size(); ++i) {
      Node node = *graph_->Decode(i);
      if (edit->Change(i, node)) {
        out[node.id] = node;
      }
    }
    changes_ = edit->changes();
    const auto edited = edit->Edited();
    EXPECT_TRUE(edited) << (edited ? "" : edited.error().message);
    return out;
  }

  std::string Refused(const std::string& text) {
    rules_ = {*ParseRule(text, "")};
    effects_.assign(1, {});
    graph_.emplace(*Graph::Build({}, nodes_));
    const auto edit =
        GraphEdit::Create(*graph_, 0, rules_, kGroups, GraphEdit::Times::kInNodes, effects_);
    EXPECT_FALSE(edit);
    return edit ? "" : edit.error().message;
  }

  static std::vector<std::uint64_t> DepsOf(const Node& node) {
    std::vector<std::uint64_t> ids;
    for (const Dependency& dep : node.deps) {
      ids.push_back(dep.node_id);
    }
    return ids;
  }

  static inline const FindRuleGroup kGroups = [](const std::string& id) {
    return RuleGroup{{id, "dp"}, 4};
  };
  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  std::vector<RuleEffect> effects_;
  std::optional<Graph> graph_;
  std::unordered_map<std::uint64_t, TimeChange> changes_;
};

TEST_F(GraphEditTest, TimesChangeWhereRulesFindThem) {
  auto nodes = Edit({"class=gemm => scale 0.5", "kind=all_reduce group=d? => time 40ns",
                     "name=kernel stream=0/7 class=norm => delay 5ns"});
  EXPECT_EQ(nodes[11].duration_ns, 75);
  EXPECT_EQ(nodes[13].duration_ns, 75);
  EXPECT_EQ(nodes[15].duration_ns, 150);
  EXPECT_EQ(nodes[15].delay_ns, 15);
  EXPECT_EQ(nodes[12].transfer_ns, 40);
  EXPECT_EQ(nodes[12].duration_ns, 90);  // what it waited stays
  EXPECT_EQ(nodes[12].rescaled, Rescaled::kRule);
  EXPECT_EQ(nodes[1].rescaled, Rescaled::kNo);
  EXPECT_EQ(nodes[1].duration_ns, 10);  // a launch is no operation
  EXPECT_EQ(effects_[0].nodes, 2);
  EXPECT_EQ(effects_[0].recorded_ns, 300);
  EXPECT_EQ(effects_[0].changed_ns, 150);
  EXPECT_EQ(effects_[1].recorded_ns, 200);
  EXPECT_EQ(effects_[1].changed_ns, 80);
  EXPECT_THAT(changes_, IsEmpty());
  EXPECT_EQ(Edit({"thread=1 => scale 2"})[1].duration_ns, 20);
  EXPECT_EQ(Edit({"rank=1- => scale 2"})[11].duration_ns, 150);
  EXPECT_EQ(effects_[0].nodes, 0);
}

TEST_F(GraphEditTest, SimulationsKeepWhatWasRecorded) {
  auto nodes =
      Edit({"class=gemm => scale 0.5", "class=gemm => delay 5ns"}, GraphEdit::Times::kBeside);
  EXPECT_EQ(nodes[11].duration_ns, 150);
  EXPECT_EQ(nodes[11].delay_ns, 10);
  EXPECT_EQ(changes_.at(11).Of(150), 75);
  EXPECT_EQ(changes_.at(11).delay_ns, 5);
  EXPECT_EQ(changes_.size(), 2U);
}

TEST_F(GraphEditTest, TimesThatWereNotRecordedChangeBeside) {
  Find(11).untimed = true;
  Find(11).duration_ns = 0;
  auto nodes = Edit({"class=gemm => time 8ns", "class=gemm => scale 2"});
  EXPECT_EQ(nodes[11].duration_ns, 0);
  EXPECT_EQ(nodes[13].duration_ns, 16);
  EXPECT_EQ(changes_.at(11).Of(1'000), 16);
  EXPECT_EQ(effects_[0].nodes_without_time, 1);
}

TEST_F(GraphEditTest, WhatIsRemovedIsBridged) {
  auto nodes = Edit({"class=comm => remove"});
  EXPECT_EQ(nodes.size(), 8U);
  // 12's launch is before 13's on the thread: that of 13 is enough.
  EXPECT_THAT(DepsOf(nodes[13]), UnorderedElementsAre(3, 11, 2));
  nodes = Edit({"stream=7 => remove"});
  EXPECT_THAT(DepsOf(nodes[14]), UnorderedElementsAre(4, 12));
  nodes = Edit({"thread=1 => remove"});
  EXPECT_THAT(DepsOf(nodes[11]), IsEmpty());
  EXPECT_EQ(nodes[11].delay_ns, 110);  // when its launch began, and its own delay
  EXPECT_THAT(DepsOf(nodes[14]), ElementsAre(12));
  EXPECT_EQ(nodes[14].delay_ns, 10);
}

TEST_F(GraphEditTest, ALongChainIsRemoved) {
  for (std::uint64_t i = 1'000; i < 101'000; ++i) {
    Node node = Find(11);
    node.id = i;
    node.op_class = OpClass::kCopy;
    node.start_ns = static_cast<std::int64_t>(i);
    node.deps = {{i == 1'000 ? 15 : i - 1, EdgeReason::kStream}};
    nodes_.push_back(node);
  }
  Node last = nodes_.back();
  last.id = 200'000;
  last.op_class = OpClass::kNorm;
  last.start_ns = 200'000;
  last.deps = {{100'999, EdgeReason::kStream}};
  nodes_.push_back(last);
  auto nodes = Edit({"class=copy => remove"});
  EXPECT_EQ(nodes.size(), 11U);
  EXPECT_THAT(DepsOf(nodes[200'000]), ElementsAre(15));
  EXPECT_EQ(nodes[200'000].deps.front().reason, EdgeReason::kStream);
}

TEST_F(GraphEditTest, LaterTransfersMoveUpInTheirSequence) {
  Find(12).comm->kind = CommKind::kBroadcast;
  auto nodes = Edit({"kind=broadcast => remove"});
  EXPECT_EQ(nodes[14].comm->index, 0);
}

TEST_F(GraphEditTest, BucketsAreOneTransfer) {
  auto nodes = Edit({"kind=all_reduce => bucket 1MiB"});
  EXPECT_FALSE(nodes.contains(12));
  EXPECT_EQ(nodes[14].comm->in_bytes, 8'000);
  EXPECT_EQ(nodes[14].comm->out_bytes, 8'000);
  EXPECT_EQ(nodes[14].comm->index, 0);
  EXPECT_EQ(nodes[14].transfer_ns, 200);
  EXPECT_EQ(nodes[14].rescaled, Rescaled::kSize);
  EXPECT_THAT(DepsOf(nodes[14]), UnorderedElementsAre(4, 2));
  EXPECT_THAT(DepsOf(nodes[13]), UnorderedElementsAre(3, 11, 14));  // waits for all of it
  nodes = Edit({"kind=all_reduce => bucket 4000"});
  EXPECT_EQ(nodes.size(), 10U);
  EXPECT_EQ(nodes[14].rescaled, Rescaled::kNo);
}

TEST_F(GraphEditTest, StreamsAreChainedAnew) {
  auto nodes = Edit({"class=comm => stream 0/7"});
  EXPECT_THAT(DepsOf(nodes[12]), UnorderedElementsAre(2, 11));
  EXPECT_THAT(DepsOf(nodes[13]), UnorderedElementsAre(3, 12));
  EXPECT_THAT(DepsOf(nodes[14]), UnorderedElementsAre(4, 13));
  EXPECT_THAT(DepsOf(nodes[15]), UnorderedElementsAre(5, 14));
  EXPECT_EQ(nodes[12].actor, (Actor{Actor::Kind::kStream, 7, 0}));
}

TEST_F(GraphEditTest, NothingRunsBesideWhatIsAlone) {
  Find(13).deps.pop_back();
  auto nodes = Edit({"class=comm => alone"});
  EXPECT_THAT(DepsOf(nodes[12]), UnorderedElementsAre(2, 11));
  EXPECT_THAT(DepsOf(nodes[13]), UnorderedElementsAre(3, 11, 12));
  EXPECT_THAT(DepsOf(nodes[14]), UnorderedElementsAre(4, 12, 13));
  EXPECT_THAT(DepsOf(nodes[15]), UnorderedElementsAre(5, 13, 14));
  nodes = Edit({"name=* => serialise"});
  EXPECT_THAT(DepsOf(nodes[12]), UnorderedElementsAre(2, 11));
  EXPECT_THAT(DepsOf(nodes[15]), UnorderedElementsAre(5, 13, 14));
}

TEST_F(GraphEditTest, SizesAndTypesOfTransfers) {
  Node& gather = Find(14);
  gather.comm->kind = CommKind::kAllGather;
  gather.comm->in_bytes = 1'000;
  gather.comm->largest_bytes = 1'000;
  auto nodes = Edit({"class=comm => resize 0.3331"});
  EXPECT_EQ(nodes[12].comm->in_bytes, 1'332);  // 333 of 1,000 elements
  EXPECT_EQ(nodes[14].comm->in_bytes, 332);
  EXPECT_EQ(nodes[14].comm->out_bytes, 4 * 332);
  EXPECT_EQ(nodes[14].comm->largest_bytes, 332);
  EXPECT_EQ(nodes[14].transfer_ns, 100);
  EXPECT_EQ(nodes[14].rescaled, Rescaled::kSize);
  nodes = Edit({"class=comm => dtype bfloat16"});
  EXPECT_EQ(nodes[12].comm->in_bytes, 2'000);
  EXPECT_EQ(nodes[12].comm->dtype, DType::kBFloat16);
  EXPECT_EQ(nodes[14].comm->largest_bytes, 500);
  EXPECT_EQ(Edit({"kind=all_reduce => resize 400"})[12].comm->in_bytes, 1'600'000);  // a factor
  EXPECT_EQ(Edit({"kind=all_reduce => resize 1K"})[12].comm->in_bytes, 1'024);
  Find(12).comm->kind = CommKind::kAllToAll;
  EXPECT_EQ(Edit({"kind=all_to_all => resize 0.5005"})[12].comm->in_bytes, 4 * 500);
  Find(12).comm->in_splits = Find(12).comm->out_splits = {400, 300, 300, 0};
  nodes = Edit({"kind=all_to_all => resize 0.1"});
  EXPECT_THAT(nodes[12].comm->in_splits, ElementsAre(40, 30, 30, 0));
  EXPECT_EQ(nodes[12].comm->in_bytes, 400);
}

TEST_F(GraphEditTest, WhatARuleIsNotFor) {
  EXPECT_THAT(Refused("class=gemm => resize 2"), HasSubstr("node 11 (kernel) is no transfer"));
  EXPECT_THAT(Refused("thread=1 => stream 0/7"), HasSubstr("is on no stream"));
  Find(12).comm->kind = CommKind::kAllGather;
  EXPECT_THAT(Refused("class=comm => bucket 1M"), HasSubstr("is no all_reduce"));
  Find(14).comm->dtype = DType::kUnknown;
  EXPECT_THAT(Refused("class=comm => dtype bfloat16"), HasSubstr("has no known type"));
  Find(14).comm->bytes_known = false;
  EXPECT_THAT(Refused("class=comm => resize 2"), HasSubstr("node 14 (nccl) has no known size"));
}

}  // namespace
}  // namespace reprise
