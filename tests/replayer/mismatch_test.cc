// Traces that do not fit each other are refused by the whole replay, on every rank and before
// anything runs, naming ranks, group, sequence and both nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replayer/replay_fixture.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using Specs = std::vector<CommSpec>;

CommSpec Broadcast(std::int32_t root) {
  CommSpec spec = AllReduceSpec(256);
  spec.kind = CommKind::kBroadcast;
  spec.root = root;
  return spec;
}

CommSpec Barrier() {
  CommSpec spec = AllReduceSpec(0);
  spec.kind = CommKind::kBarrier;
  return spec;
}

CommSpec OfType(DType dtype) {
  CommSpec spec = AllReduceSpec(256);
  spec.dtype = dtype;
  return spec;
}

CommSpec Pair(CommKind kind, std::int32_t peer, std::int64_t bytes = 256) {
  CommSpec spec = AllReduceSpec(0);
  spec.kind = kind;
  spec.peer = peer;
  (kind == CommKind::kSend ? spec.in_bytes : spec.out_bytes) = bytes;
  return spec;
}

class MismatchTest : public ReplayTest {
 protected:
  // The ranks' traces: each begins with an all_reduce that fits, then `specs`. Node ids differ.
  void WriteRanks(const std::vector<Specs>& ranks) {
    std::vector<ThreadTrace> traces;
    for (const Specs& specs : ranks) {
      ThreadTrace& trace = traces.emplace_back();
      for (std::size_t i = 0; i < 10 * traces.size(); ++i) {
        trace.Add("aten::view", OpKind::kMetadata, 1000);
      }
      trace.AddTransfer(AllReduceSpec(1024), TensorValue(0, {16, 16}));
      std::int64_t index = 1;
      for (CommSpec spec : specs) {
        spec.index = IsPointToPoint(spec.kind) ? 0 : index++;
        trace.AddTransfer(spec, TensorValue(0, {16, 16}));
      }
      nodes_.emplace_back();
      for (const Node& node : trace.nodes) {
        if (node.comm) {
          nodes_.back().push_back(std::to_string(node.id));
        }
      }
    }
    WriteSet(traces);
  }

  void ExpectRefused(const std::vector<std::string>& needles) {
    for (const Error& error : Run(Request(), static_cast<int>(nodes_.size()))) {
      EXPECT_EQ(error.kind, ErrorKind::kBadInput);
      for (const std::string& needle : needles) {
        EXPECT_THAT(error.message, HasSubstr(needle));
      }
    }
    EXPECT_FALSE(fs::exists(directory_ / "run"));
  }

  // "rank 1 node 43": the n-th transfer of a rank.
  std::string NodeOf(std::size_t rank, std::size_t n) {
    return "rank " + std::to_string(rank) + " node " + nodes_.at(rank).at(n);
  }

  std::vector<std::vector<std::string>> nodes_;  // by rank: ids of its transfers
};

TEST_F(MismatchTest, Kind) {
  WriteRanks({{AllReduceSpec(256)}, {Broadcast(0)}});
  ExpectRefused({"group '0', collective 1", "all_reduce vs broadcast", NodeOf(0, 1), NodeOf(1, 1)});
}

TEST_F(MismatchTest, Size) {
  WriteRanks({{AllReduceSpec(256)}, {AllReduceSpec(256)}, {AllReduceSpec(512)}});
  ExpectRefused({"group '0', collective 1", "256 vs 512", NodeOf(0, 1), NodeOf(2, 1)});
}

TEST_F(MismatchTest, Dtype) {
  WriteRanks({{OfType(DType::kFloat32)}, {OfType(DType::kInt32)}});
  ExpectRefused({"group '0', collective 1", "float32 vs int32", NodeOf(0, 1), NodeOf(1, 1)});
}

TEST_F(MismatchTest, Operation) {
  CommSpec sum = AllReduceSpec(256);
  sum.op_recorded = true;
  CommSpec max = sum;
  max.op = ReduceOp::kMax;
  WriteRanks({{sum}, {max}});
  ExpectRefused({"group '0', collective 1", "sum vs max", NodeOf(0, 1), NodeOf(1, 1)});
}

TEST_F(MismatchTest, Root) {
  WriteRanks({{Broadcast(0)}, {Broadcast(1)}});
  ExpectRefused({"group '0', collective 1", "root 0 vs 1", NodeOf(0, 1), NodeOf(1, 1)});
}

TEST_F(MismatchTest, OneIsMissing) {
  WriteRanks({{AllReduceSpec(256)}, {}});
  ExpectRefused({"group '0', collective 1", NodeOf(0, 1), "no counterpart on rank 1"});
}

TEST_F(MismatchTest, OrderSwapped) {
  WriteRanks({{AllReduceSpec(256), Barrier()}, {Barrier(), AllReduceSpec(256)}});
  ExpectRefused({"group '0', collective 1", "all_reduce vs barrier", "the order differs",
                 NodeOf(0, 1), NodeOf(1, 1)});
}

TEST_F(MismatchTest, SendWithoutRecv) {
  WriteRanks({{Pair(CommKind::kSend, 1)}, {}});
  ExpectRefused({"group '0'", "from rank 0 to rank 1", NodeOf(0, 1), "no recv on rank 1"});
}

TEST_F(MismatchTest, RecvWithoutSend) {
  WriteRanks({{}, {Pair(CommKind::kRecv, 0)}});
  ExpectRefused({"group '0'", "from rank 0 to rank 1", NodeOf(1, 1), "no send on rank 0"});
}

TEST_F(MismatchTest, SizesOfAPair) {
  WriteRanks({{Pair(CommKind::kSend, 1, 256)}, {Pair(CommKind::kRecv, 0, 128)}});
  ExpectRefused({"from rank 0 to rank 1", "256 vs 128", NodeOf(0, 1), NodeOf(1, 1)});
}

}  // namespace
}  // namespace reprise
