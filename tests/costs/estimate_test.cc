// Costs of calls that no rule describes: from the operands.
#include "tests/costs/calls.h"

namespace reprise {
namespace {

constexpr std::int64_t kHuge = 640'000'000;

TEST(EstimateCost, APooledLookupTouchesARowForEachIndex) {
  // FBGEMM: 3 tables of rows of 16, 128 bags of each with 768 indices in all.
  const OpCall call = {
      "fbgemm::split_embedding_codegen_lookup_adagrad_function",
      {D({kHuge}), D({4}, DType::kInt32), D({768}, DType::kInt64), D({385}, DType::kInt64)},
      {D({128, 48})}};
  const Cost cost = EstimateCost(call);
  EXPECT_DOUBLE_EQ(cost.flops, 768 * 16);
  EXPECT_DOUBLE_EQ(cost.bytes, 4 * 768 * 16 + 4 * 4 + 8 * 768 + 8 * 385 + 4 * 128 * 48);
}

TEST(EstimateCost, ALookupThatIsNotPooledTouchesWhatItReturns) {
  const OpCall call = {
      "torchrec::embedding_lookup", {D({10'000'000, 64}), D({100}, DType::kInt64)}, {D({100, 64})}};
  EXPECT_DOUBLE_EQ(EstimateCost(call).bytes, 2 * 4 * 100 * 64 + 8 * 100);
}

TEST(EstimateCost, ASelectionTouchesWhatItReturns) {
  for (const char* name : {"aten::index_select", "aten::gather", "aten::index"}) {
    const OpCall call = {
        name, {D({kHuge}, DType::kInt64), D({10}, DType::kInt64)}, {D({10}, DType::kInt64)}};
    EXPECT_DOUBLE_EQ(EstimateCost(call).bytes, 3 * 8 * 10) << name;
  }
}

TEST(EstimateCost, OtherOperationsReadTheirOperands) {
  const OpCall call = {"made::up", {D({1000})}, {D({1000})}};
  EXPECT_DOUBLE_EQ(EstimateCost(call).bytes, 8000);
}

}  // namespace
}  // namespace reprise
