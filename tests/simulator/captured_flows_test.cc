// Captured transfers that share links: in the recording, and on the simulated machine.
#include "predict/simulator/captured_flows.h"

#include <gtest/gtest.h>

#include "predict/simulator/scale.h"
#include "tests/simulator/jobs.h"

namespace reprise {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Rank 0 has a kernel, a message to rank 1 that waits for nothing, and one to rank 2 that waits for
// the kernel. Both messages have 1 MB, which takes a millisecond out of a device.
class CapturedMessages : public ::testing::Test {
 protected:
  void Record(std::int64_t kernel_ns, std::int64_t message_ns) {
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      std::vector<Node> nodes;
      const auto message = [&](CommKind kind, std::int32_t peer) {
        Node node{.id = nodes.size() + 1, .name = "message"};
        node.type = kind == CommKind::kSend ? NodeType::kCommSend : NodeType::kCommRecv;
        node.actor = {Actor::Kind::kStream, 20 + peer, 0};
        node.kind = OpKind::kComm;
        node.op_class = OpClass::kComm;
        CommSpec spec;
        spec.kind = kind;
        spec.group = "0";
        spec.peer = peer;
        (kind == CommKind::kSend ? spec.in_bytes : spec.out_bytes) = kMs;
        node.comm = spec;
        nodes.push_back(node);
        timing_.match.push_back((kind == CommKind::kSend ? peer : rank) - 1);
        timing_.transfer_ns.push_back(message_ns);
        timing_.need.push_back(LeastNeed(kind, kind == CommKind::kSend));
        timing_.root.push_back(kind == CommKind::kSend ? 1 : 0);
        timing_.duration_ns.push_back(message_ns);
      };
      if (rank == 0) {
        nodes.push_back({.id = 1,
                         .name = "kernel",
                         .type = NodeType::kComp,
                         .actor = {Actor::Kind::kStream, 7, 0}});
        nodes.back().duration_ns = kernel_ns;
        timing_.match.push_back(-1);
        timing_.transfer_ns.push_back(0);
        timing_.need.push_back(ArrivalNeed::kAll);
        timing_.root.push_back(0);
        timing_.duration_ns.push_back(kernel_ns);
        message(CommKind::kSend, 1);
        message(CommKind::kSend, 2);
        nodes[2].deps.push_back({1, EdgeReason::kEvent});
      } else {
        message(CommKind::kRecv, 0);
      }
      first_.push_back(static_cast<std::uint32_t>(timing_.delay_ns.size()));
      Result<Graph> graph = Graph::Build(TraceMetadata{}, nodes);
      ASSERT_TRUE(graph) << graph.error().message;
      timing_.delay_ns.resize(timing_.match.size(), 0);
      graphs_.push_back(std::move(*graph));
    }
    first_.push_back(5);
    timing_.dep_offset = {0, 0, 0, 1, 1, 1};
    timing_.deps = {0};
    timing_.reasons = {static_cast<std::uint8_t>(EdgeReason::kEvent)};
    work_.resize(5);
    work_[0] = {OpClass::kElementwise, DType::kFloat32, 0, 1e9, true};
    options_.from = PlainMachine();
    options_.to = PlainMachine();
    options_.network = NetworkModel::kFlow;
  }

  // When the two messages have arrived.
  std::pair<std::int64_t, std::int64_t> Arrivals() {
    std::vector<TimeSource> source;
    const Result<ScaleSummary> summary =
        ScaleTimes({graphs_, first_, work_, {{"0", {0, 1, 2}}}}, options_, timing_, source);
    EXPECT_TRUE(summary) << summary.error().message;
    const Result<Schedule> schedule = DryRun(timing_);
    return {schedule->end_ns[3], schedule->end_ns[4]};
  }

  std::vector<Graph> graphs_;
  std::vector<std::uint32_t> first_;
  std::vector<OperatorWork> work_;
  TimingGraph timing_;
  ScaleOptions options_;
};

// Recorded one after the other; with a kernel of half the time, they meet for half a millisecond.
TEST_F(CapturedMessages, ShareWhatTheyDidNotShareWhenRecorded) {
  Record(kMs, kMs);
  options_.to->device.memory_bytes_per_second.value *= 2;
  options_.slow_links = {{options_.to->links[0].name, -1, 1}};
  EXPECT_EQ(Arrivals(), std::pair(3 * kMs / 2, 2 * kMs));
}

// Recorded at the same time, each with half of the link: twice the link, half the time.
TEST_F(CapturedMessages, WhatTheySharedIsTakenOut) {
  Record(0, 2 * kMs);
  options_.to->links[0].bytes_per_second->value *= 2;
  EXPECT_EQ(Arrivals(), std::pair(kMs, kMs));
}

// On a machine with the same network the recording holds the sharing.
TEST_F(CapturedMessages, KeepTheirTimesOnTheirOwnNetwork) {
  Record(kMs / 2, kMs);
  options_.to->device.memory_bytes_per_second.value *= 2;
  EXPECT_EQ(Arrivals(), std::pair(kMs, kMs / 4 + kMs));
}

}  // namespace
}  // namespace reprise
