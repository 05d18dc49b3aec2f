// Transfers: one node each, in their group, with waits and edges (docs/definitions.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsNull;
using ::testing::NotNull;

json World(int size) {
  return {{{"pg_name", "0"},
           {"pg_desc", "default_pg"},
           {"ranks", json::array()},
           {"group_size", size}}};
}

SyntheticOp MulOn(double start_us, double duration_us, int storage) {
  return {.name = "aten::mul_",
          .start_us = start_us,
          .duration_us = duration_us,
          .inputs = {TensorArg(storage, {8}), DoubleArg(2)},
          .outputs = {TensorArg(storage, {8})}};
}

std::vector<LoadedTrace> Convert(const std::string& name,
                                 const std::vector<SyntheticCapture>& captures) {
  auto traces = ConvertAll(name, captures);
  EXPECT_TRUE(traces) << (traces ? "" : traces.error().message);
  return traces ? std::move(*traces) : std::vector<LoadedTrace>(captures.size());
}

const Node* Transfer(const LoadedTrace& trace, std::size_t nth = 0) {
  for (const Node& node : trace.nodes) {
    if (node.comm && nth-- == 0) {
      return &node;
    }
  }
  return nullptr;
}

std::size_t TransferCount(const LoadedTrace& trace) {
  std::size_t count = 0;
  for (const Node& node : trace.nodes) {
    count += node.comm ? 1 : 0;
  }
  return count;
}

// Rank 1 arrives 300 µs later; both end when its data came.
std::vector<SyntheticCapture> TwoRanks(bool blocking) {
  std::vector<SyntheticCapture> out;
  for (int rank = 0; rank < 2; ++rank) {
    SyntheticCapture capture(rank, 2);
    capture.Groups(World(2)).Step(0, 2000);
    capture.Add(MulOn(50, 40, 4));
    capture.AllReduce(rank == 0 ? 100 : 400, rank == 0 ? 150 : 450, 600 + rank, 4, 8, 200,
                      blocking);
    capture.Add(MulOn(800, 40, 4));
    out.push_back(capture);
  }
  return out;
}

TEST(Transfers, BlockingCollective) {
  const auto traces = Convert("blocking", TwoRanks(true));
  const Node* transfer = Transfer(traces[0]);
  ASSERT_THAT(transfer, NotNull());
  ASSERT_EQ(TransferCount(traces[0]), 1U) << "call and gloo's record are one transfer";
  const CommSpec& spec = *transfer->comm;
  EXPECT_EQ(spec.kind, CommKind::kAllReduce);
  EXPECT_EQ(spec.group, "0");
  EXPECT_EQ(spec.certainty, GroupCertainty::kInferred);
  EXPECT_EQ(spec.in_bytes, 32);
  EXPECT_EQ(spec.out_bytes, 32);
  EXPECT_EQ(spec.dtype, DType::kFloat32);
  EXPECT_FALSE(spec.async);
  EXPECT_FALSE(spec.op_recorded);
  EXPECT_EQ(transfer->actor.kind, Actor::Kind::kGroup);
  EXPECT_EQ(transfer->start_ns, 150'000);
  EXPECT_EQ(transfer->duration_ns, 450'000);
  // What is left of it after rank 1 arrived at 450.
  EXPECT_EQ(transfer->transfer_ns, 150'000);
  EXPECT_EQ(Transfer(traces[1])->transfer_ns, 151'000);
  // The call issues it; the host then waits, and goes on.
  const Node* call = traces[0].ById(transfer->deps.at(0).node_id);
  ASSERT_THAT(call, NotNull());
  EXPECT_EQ(transfer->deps[0].reason, EdgeReason::kLaunch);
  EXPECT_EQ(call->name, "c10d::allreduce_");
  EXPECT_EQ(call->kind, OpKind::kMetadata);
  const Node* wait = traces[0].Find("c10d::wait");
  ASSERT_THAT(wait, NotNull());
  EXPECT_EQ(wait->kind, OpKind::kWait);
  EXPECT_EQ(traces[0].Edge(*transfer, *wait), EdgeReason::kCommWait);
  EXPECT_EQ(traces[0].Edge(*call, *wait), EdgeReason::kThread);
  EXPECT_EQ(wait->start_ns, 600'000);
  EXPECT_EQ(wait->delay_ns, 0);
  const Node* after = traces[0].Find("aten::mul_", 1);
  EXPECT_EQ(traces[0].Edge(*wait, *after), EdgeReason::kThread);
  EXPECT_EQ(after->delay_ns, 200'000);
}

TEST(Transfers, CallIsCutWhereItsTransferStarts) {
  auto captures = TwoRanks(true);
  SyntheticCapture capture(0, 2);
  capture.Groups(World(2)).Step(0, 2000);
  capture.AllReduce(100, 105, 600, 4, 8);  // the call lasts until 120
  captures[0] = capture;
  const auto traces = Convert("cut", captures);
  const Node* transfer = Transfer(traces[0]);
  ASSERT_THAT(transfer, NotNull());
  const Node* issue = traces[0].Find("c10d::allreduce_", 0);
  EXPECT_EQ(issue->duration_ns, 5'000);
  EXPECT_EQ(traces[0].Edge(*issue, *transfer), EdgeReason::kLaunch);
  EXPECT_EQ(transfer->delay_ns, 0);
  const Node* rest = traces[0].Find("c10d::allreduce_", 1);
  if (rest->comm) {
    rest = traces[0].Find("c10d::allreduce_", 2);
  }
  EXPECT_EQ(rest->start_ns, 105'000);
  EXPECT_EQ(rest->duration_ns, 15'000);
}

TEST(Transfers, AsynchronousCollectiveIsWaitedForWhereTheHostIsQuiet) {
  const auto traces = Convert("async", TwoRanks(false));
  const Node* transfer = Transfer(traces[0]);
  ASSERT_THAT(transfer, NotNull());
  EXPECT_TRUE(transfer->comm->async);
  const Node* wait = traces[0].Find("c10d::wait");
  ASSERT_THAT(wait, NotNull());
  ASSERT_EQ(wait->deps.size(), 2U);
  EXPECT_EQ(traces[0].Edge(*transfer, *wait), EdgeReason::kCommWait);
  EXPECT_TRUE(wait->deps[1].inferred);
  EXPECT_EQ(traces[0].Diagnostic("wait_inferred"), 1U);
}

TEST(Transfers, DataEdgeWhereTheHostWasBusy) {
  auto captures = TwoRanks(false);
  for (SyntheticCapture& capture : captures) {
    capture.Add(MulOn(480, 300, 5));  // computes while the transfer runs; the data are used at 800
  }
  const auto traces = Convert("busy", captures);
  EXPECT_THAT(traces[0].Find("c10d::wait"), IsNull());
  EXPECT_EQ(traces[0].Diagnostic("transfer_without_wait"), 1U);
  const Node* use = traces[0].Find("aten::mul_", 2);
  ASSERT_THAT(use, NotNull());
  EXPECT_EQ(use->start_ns, 800'000);
  EXPECT_EQ(traces[0].Edge(*Transfer(traces[0]), *use), EdgeReason::kData);
}

// A worker that lost its core stamps the end late; the data were used before.
TEST(Transfers, LateEndIsCorrectedByTheFirstUse) {
  auto captures = TwoRanks(false);
  SyntheticCapture capture(0, 2);
  capture.Groups(World(2)).Step(0, 2000);
  capture.AllReduce(100, 150, 900, 4, 8, 200, false);
  capture.Add(MulOn(800, 40, 4));
  captures[0] = capture;
  const auto traces = Convert("late", captures);
  const Node* transfer = Transfer(traces[0]);
  ASSERT_THAT(transfer, NotNull());
  EXPECT_EQ(transfer->start_ns + transfer->duration_ns, 800'000);
  EXPECT_EQ(transfer->transfer_ns, 350'000);
  EXPECT_EQ(traces[0].Diagnostic("transfer_end_late"), 1U);
}

// Oddity 9: up to four records of one transfer.
TEST(Transfers, FourRecordsAreOneTransfer) {
  std::vector<SyntheticCapture> captures;
  for (int rank = 0; rank < 2; ++rank) {
    SyntheticCapture capture(rank, 2);
    capture.Groups(World(2)).Step(0, 2000);
    const Arg tensor = TensorArg(6, {8});
    capture.Add({.name = "_c10d_functional::all_reduce",
                 .start_us = 100,
                 .duration_us = 100,
                 .inputs = {TensorArg(4, {8}), {.value = "sum", .type = "String"}},
                 .outputs = {tensor}});
    capture.Add({.name = "aten::clone", .start_us = 105, .duration_us = 20});
    capture.Add({.name = "aten::copy_",
                 .start_us = 110,
                 .duration_us = 10,
                 .inputs = {tensor, TensorArg(4, {8})},
                 .outputs = {tensor}});
    capture.Add({.name = "c10d::allreduce_",
                 .start_us = 130,
                 .duration_us = 60,
                 .inputs = {ListArg({tensor}), LiteralArg("Object"), LiteralArg("Object"),
                            LiteralArg("None"), BoolArg(true)},
                 .schema = "c10d::allreduce_(Tensor[] tensors, PG process_group, Op reduce_op, "
                           "Tensor? sparse_indices, bool async_op=True) -> (Tensor[], Work)"});
    capture.Add({.name = "record_param_comms",
                 .start_us = 140,
                 .duration_us = 40,
                 .inputs = {ListArg({tensor}), ListArg({IntArg(17), BoolArg(false)}, "Tuple")},
                 .schema = "",
                 .comm = {{"collective_name", "allreduce"},
                          {"pg_name", rank == 0 ? "5" : "9"},
                          {"pg_desc", "tp"},
                          {"is_asynchronized_op", true}},
                 .kineto_args = {{"Process Group Ranks", "[0, 1]"}, {"Seq", 17}}});
    capture.Add({.name = "gloo:all_reduce",
                 .start_us = 170,
                 .duration_us = 200,
                 .tid = 200,
                 .inputs = {tensor},
                 .schema = "",
                 .category = "user_annotation",
                 .scope = 7});
    // Another tensor id on the same storage: matched by storage, not by tensor.
    Arg waited = tensor;
    waited.value[0] = 4711;
    capture.Add({.name = "_c10d_functional::wait_tensor",
                 .start_us = 250,
                 .duration_us = 150,
                 .inputs = {waited},
                 .outputs = {waited}});
    captures.push_back(capture);
  }
  const auto traces = Convert("four", captures);
  ASSERT_EQ(TransferCount(traces[0]), 1U);
  const Node* transfer = Transfer(traces[0]);
  EXPECT_EQ(transfer->comm->sequence, 17);
  EXPECT_EQ(transfer->comm->certainty, GroupCertainty::kRecorded);
  EXPECT_EQ(transfer->comm->group, Transfer(traces[1])->comm->group) << "names differ by rank";
  EXPECT_THAT(traces[0].Find("aten::copy_"), NotNull()) << "the input's clone is work";
  EXPECT_THAT(traces[0].Find("record_param_comms"), IsNull());
  const Node* wait = traces[0].Find("_c10d_functional::wait_tensor");
  ASSERT_THAT(wait, NotNull());
  EXPECT_EQ(traces[0].Edge(*transfer, *wait), EdgeReason::kCommWait);
  EXPECT_EQ(wait->start_ns, 370'000) << "when the transfer had ended";
  EXPECT_EQ(wait->duration_ns, 30'000) << "what remained of it then";
}

// gloo runs a reduce_scatter of lists as several all_reduce.
TEST(Transfers, SeveralRecordsOfOneCall) {
  std::vector<SyntheticCapture> captures;
  for (int rank = 0; rank < 2; ++rank) {
    SyntheticCapture capture(rank, 2);
    capture.Groups(World(2)).Step(0, 2000);
    capture.Add({.name = "c10d::reduce_scatter_",
                 .start_us = 100,
                 .duration_us = 20,
                 .inputs = {ListArg({TensorArg(6, {3})}),
                            ListArg({ListArg({TensorArg(4, {3}), TensorArg(5, {3})})}),
                            LiteralArg("Object"), LiteralArg("Object"), BoolArg(false)},
                 .schema = "c10d::reduce_scatter_(Tensor[] output_tensors, Tensor[][] "
                           "input_tensors, PG process_group, Op reduce_op, bool async_op=True) -> "
                           "(Tensor[], Work)"});
    for (int i = 0; i < 2; ++i) {
      capture.Add({.name = "gloo:all_reduce",
                   .start_us = 130.0 + i * 20,
                   .duration_us = 100,
                   .tid = 200 + i,
                   .schema = "",
                   .category = "user_annotation",
                   .scope = 7});
    }
    captures.push_back(capture);
  }
  const auto traces = Convert("several", captures);
  ASSERT_EQ(TransferCount(traces[0]), 1U);
  const Node* transfer = Transfer(traces[0]);
  EXPECT_EQ(transfer->comm->kind, CommKind::kReduceScatter);
  EXPECT_EQ(transfer->comm->in_bytes, 24);
  EXPECT_EQ(transfer->comm->out_bytes, 12);
  EXPECT_EQ(transfer->start_ns, 130'000);
  EXPECT_EQ(transfer->duration_ns, 120'000);
}

TEST(Transfers, UnevenAllToAllCountsElements) {
  std::vector<SyntheticCapture> captures;
  const std::int64_t splits[2][2] = {{1, 2}, {3, 4}};  // rows from rank i to rank j
  for (int rank = 0; rank < 2; ++rank) {
    SyntheticCapture capture(rank, 2);
    capture.Groups(World(2)).Step(0, 2000);
    const std::int64_t in = splits[rank][0] + splits[rank][1];
    const std::int64_t out = splits[0][rank] + splits[1][rank];
    const auto list = [](std::int64_t a, std::int64_t b) {
      return ListArg({IntArg(a), IntArg(b)});
    };
    capture.Add({.name = "c10d::alltoall_base_",
                 .start_us = 100,
                 .duration_us = 20,
                 .inputs = {TensorArg(6, {out, 10}), TensorArg(4, {in, 10}), LiteralArg("Object"),
                            list(splits[0][rank], splits[1][rank]),
                            list(splits[rank][0], splits[rank][1]), BoolArg(false)},
                 .schema = "c10d::alltoall_base_(Tensor output, Tensor input, PG process_group, "
                           "int[] output_split_sizes, int[] input_split_sizes, bool "
                           "async_op=True) -> Work"});
    capture.Add({.name = "gloo:all_to_all",
                 .start_us = 130,
                 .duration_us = 100,
                 .tid = 200,
                 .schema = "",
                 .category = "user_annotation",
                 .scope = 7});
    captures.push_back(capture);
  }
  const auto traces = Convert("alltoall", captures);
  const Node* transfer = Transfer(traces[1]);
  ASSERT_THAT(transfer, NotNull());
  EXPECT_THAT(transfer->comm->in_splits, ElementsAre(30, 40));
  EXPECT_THAT(transfer->comm->out_splits, ElementsAre(20, 40));
  EXPECT_EQ(transfer->comm->in_bytes, 280);
  EXPECT_EQ(transfer->comm->out_bytes, 240);
  EXPECT_EQ(transfer->comm->group, "0");
  ASSERT_EQ(transfer->inputs.size(), 1U);
  EXPECT_EQ(transfer->outputs[0].AsTensor()->elements, 60);
}

// Rank 0 sends while it computes on; gloo opens the record after the data were written and closes
// it at the wait, long after.
std::vector<SyntheticCapture> SendAndReceive() {
  const std::string schema =
      "c10d::send(Tensor[] tensors, PG process_group, int dst, int tag) -> Work";
  SyntheticCapture sender(0, 2);
  sender.Groups(World(2)).Step(0, 2000);
  sender.Add({.name = "c10d::send",
              .start_us = 100,
              .duration_us = 60,
              .inputs = {ListArg({TensorArg(4, {8})}), LiteralArg("Object"), IntArg(1), IntArg(5)},
              .schema = schema});
  sender.Add({.name = "gloo:send",
              .start_us = 155,
              .duration_us = 845,
              .schema = "",
              .category = "user_annotation",
              .scope = 7});
  for (int i = 0; i < 8; ++i) {
    sender.Add(MulOn(200 + i * 100, 95, 7));
  }
  sender.Add(MulOn(1010, 50, 7));
  SyntheticCapture receiver(1, 2);
  receiver.Groups(World(2)).Step(0, 2000);
  std::string receive = schema;
  receive.replace(receive.find("dst"), 3, "src");
  receiver.Add(
      {.name = "c10d::recv_",
       .start_us = 20,
       .duration_us = 30,
       .inputs = {ListArg({TensorArg(6, {8})}), LiteralArg("Object"), IntArg(0), IntArg(5)},
       .schema = receive});
  receiver.Add({.name = "gloo:recv",
                .start_us = 45,
                .duration_us = 95,
                .schema = "",
                .category = "user_annotation",
                .scope = 7});
  receiver.Add(MulOn(200, 50, 6));
  return {sender, receiver};
}

TEST(Transfers, SendAndReceive) {
  const auto traces = Convert("p2p", SendAndReceive());
  const Node* send = Transfer(traces[0]);
  const Node* receive = Transfer(traces[1]);
  ASSERT_THAT(send, NotNull());
  ASSERT_THAT(receive, NotNull());
  EXPECT_EQ(send->type, NodeType::kCommSend);
  EXPECT_EQ(send->comm->peer, 1);
  EXPECT_EQ(send->comm->tag, 5);
  EXPECT_EQ(send->comm->in_bytes, 32);
  EXPECT_EQ(send->comm->out_bytes, 0);
  EXPECT_EQ(receive->type, NodeType::kCommRecv);
  EXPECT_EQ(receive->comm->peer, 0);
  // It starts with the call: the receive ended at 140, before gloo's send record even began.
  EXPECT_EQ(send->start_ns, 100'000);
  EXPECT_EQ(receive->start_ns + receive->duration_ns, 140'000);
  EXPECT_EQ(receive->transfer_ns, 40'000);
  // Nobody waited for the send: it had ended when its call and the receive had.
  EXPECT_EQ(send->start_ns + send->duration_ns, 160'000);
  const Node* wait = traces[0].Find("c10d::wait");
  ASSERT_THAT(wait, NotNull());
  EXPECT_EQ(wait->start_ns, 1'000'000);
  EXPECT_EQ(traces[0].Edge(*send, *wait), EdgeReason::kCommWait);
  // Its record encloses nothing: what ran meanwhile is all there.
  EXPECT_THAT(traces[0].Find("aten::mul_", 8), NotNull());
  EXPECT_EQ(traces[0].Find("aten::mul_", 3)->parent, "ProfilerStep#3");
  for (const LoadedTrace& trace : traces) {
    EXPECT_EQ(trace.metadata.clock_offset_ns, 0);
  }
}

// A call without a transfer (it threw, or the capture ended) is host time, counted.
TEST(Transfers, CallWithoutTransfer) {
  SyntheticCapture capture(0, 1);
  capture.Step(0, 500);
  capture.Add({.name = "c10d::alltoall_", .start_us = 100, .duration_us = 20});
  capture.Add(MulOn(150, 20, 4));
  const auto traces = Convert("nothing", {capture});
  EXPECT_EQ(TransferCount(traces[0]), 0U);
  EXPECT_EQ(traces[0].Diagnostic("call_without_transfer"), 1U);
  EXPECT_EQ(traces[0].Find("c10d::alltoall_")->kind, OpKind::kMetadata);
}

// Two worker threads of a group run two transfers at once: the order edge comes from the last that
// had ended, not from one that had not.
TEST(Transfers, OverlappingTransfersOfAGroup) {
  std::vector<SyntheticCapture> captures;
  for (int rank = 0; rank < 2; ++rank) {
    SyntheticCapture capture(rank, 2);
    capture.Groups(World(2)).Step(0, 3000);
    capture.AllReduce(100, 130, 200, 4, 8, 200, false);
    capture.AllReduce(300, 330, 900, 5, 8, 201, false);
    capture.AllReduce(500, 530, 700, 6, 8, 200, false);
    captures.push_back(capture);
  }
  const auto traces = Convert("overlap", captures);
  const Node* first = Transfer(traces[0], 0);
  const Node* second = Transfer(traces[0], 1);
  const Node* third = Transfer(traces[0], 2);
  ASSERT_THAT(third, NotNull());
  EXPECT_EQ(traces[0].Edge(*first, *second), EdgeReason::kGroup);
  EXPECT_EQ(traces[0].Edge(*first, *third), EdgeReason::kGroup);
  EXPECT_EQ(traces[0].Edge(*second, *third), EdgeReason::kUnknown);
  EXPECT_EQ(traces[0].Diagnostic("transfers_overlap"), 1U);
  EXPECT_THAT(
      (std::vector<std::int64_t>{first->comm->index, second->comm->index, third->comm->index}),
      ElementsAre(0, 1, 2));
}

// Members that disagree are told, not hidden.
TEST(Transfers, MembersThatDisagree) {
  auto captures = TwoRanks(true);
  SyntheticCapture other(1, 2);
  other.Groups(World(2)).Step(0, 2000);
  other.AllReduce(100, 150, 600, 4, 16);
  captures[1] = other;
  const auto traces = Convert("disagree", captures);
  EXPECT_EQ(Transfer(traces[0])->comm->certainty, GroupCertainty::kUnknown);
  EXPECT_EQ(Transfer(traces[0])->transfer_ns, -1);
}

}  // namespace
}  // namespace reprise::pytorch
