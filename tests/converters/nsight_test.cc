// What texts of NVTX ranges and payloads of NCCL say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "converters/pytorch/nsight/nccl_ranges.h"
#include "converters/pytorch/nsight/nvtx_ranges.h"

namespace reprise::pytorch {
namespace {

TEST(NvtxText, OfEmitNvtxIsAnOperator) {
  const NvtxRange mm = ParseNvtxRange("aten::mm, seq = 5, op_id = 12, sizes = [[2, 3], [3, 4]]");
  EXPECT_EQ(mm.name, "aten::mm");
  EXPECT_EQ(mm.sequence, 5);
  EXPECT_TRUE(mm.is_operator);
  EXPECT_FALSE(mm.is_backward);
  const NvtxRange backward =
      ParseNvtxRange("autograd::engine::evaluate_function: MmBackward0, seq = 5, op_id = 40");
  EXPECT_EQ(backward.name, "autograd::engine::evaluate_function: MmBackward0");
  EXPECT_TRUE(backward.is_operator);
  EXPECT_TRUE(backward.is_backward);
  EXPECT_TRUE(ParseNvtxRange("MmBackward0, seq = 5, op_id = 41").is_backward);
  EXPECT_FALSE(ParseNvtxRange("detach_, op_id = 314").is_operator);
  EXPECT_EQ(ParseNvtxRange("detach_, op_id = 314").name, "detach_");
}

TEST(NvtxText, OfOtherProgramsIsAName) {
  for (const std::string text : {"", "forward", "a, b", ", op_id = 3", "std::sort", "MyBackward"}) {
    const NvtxRange range = ParseNvtxRange(text);
    EXPECT_EQ(range.name, text);
    EXPECT_FALSE(range.is_operator) << text;
    EXPECT_FALSE(range.is_backward) << text;
    EXPECT_EQ(range.sequence, std::nullopt) << text;
  }
}

TEST(NvtxText, CountsSteps) {
  struct Case {
    const char* text;
    const char* stem;
    std::optional<std::int64_t> number;
  };
  for (const Case& one :
       {Case{"step 12", "step", 12}, Case{"Iteration", "iteration", std::nullopt},
        Case{"train_step#3", "train_step", 3}, Case{"iter7", "iter", 7},
        Case{"Training Step: 4", "training_step", 4}, Case{"global-step=99", "global_step", 99}}) {
    const auto step = ParseStepText(one.text);
    ASSERT_TRUE(step) << one.text;
    EXPECT_EQ(step->stem, one.stem);
    EXPECT_EQ(step->number, one.number);
  }
  for (const char* text : {"", "12", "forward_step", "optimizer.step", "Optimizer.step#Adam.step",
                           "stepping 3", "iterator 3", "step 1 of 3", "ProfilerStep#3"}) {
    EXPECT_FALSE(ParseStepText(text)) << text;
  }
}

TEST(NcclText, NamesTransfers) {
  EXPECT_EQ(NcclCallKind("ncclAllReduce"), CommKind::kAllReduce);
  EXPECT_EQ(NcclCallKind("ncclBcast"), CommKind::kBroadcast);
  EXPECT_EQ(NcclCallKind("ncclReduceScatter"), CommKind::kReduceScatter);
  EXPECT_EQ(NcclCallKind("ncclAlltoAll"), CommKind::kAllToAll);
  EXPECT_EQ(NcclCallKind("ncclSend"), CommKind::kSend);
  for (const char* text : {"nccl", "ncclGroupEnd", "ncclGroupStart", "ncclCommInitRank",
                           "ncclCommSplit", "nccl:all_reduce", "AllReduce", "ncclallreduce"}) {
    EXPECT_EQ(NcclCallKind(text), std::nullopt) << text;
  }
}

TEST(NcclText, AnEmptyExportKnowsNoPayload) {
  const NcclPayload payload = NcclPayloads().Decode(std::string(64, '\1'));
  EXPECT_EQ(payload.bytes, std::nullopt);
  EXPECT_EQ(payload.communicator, std::nullopt);
}

}  // namespace
}  // namespace reprise::pytorch
