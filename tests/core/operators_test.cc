// The operator table and the places of arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "core/operator_arguments.h"
#include "core/operator_table.h"

namespace reprise {
namespace {

TEST(Operators, RowsAreFoundByNameOrLongestPrefix) {
  ASSERT_NE(FindOperatorRow("aten::mm"), nullptr);
  EXPECT_EQ(FindOperatorRow("aten::mm")->name, "aten::mm");
  EXPECT_EQ(FindOperatorRow("aten::_foreach_unheard_of")->name, "aten::_foreach_*");
  EXPECT_EQ(FindOperatorRow("aten::_foreach_sqrt")->name, "aten::_foreach_sqrt");
  EXPECT_EQ(FindOperatorRow("aten::unheard_of"), nullptr);
  EXPECT_EQ(FindOperator("fsdp::unheard_of")->kind, OpKind::kComposite);
}

TEST(Operators, EachHasOneRow) {
  std::set<std::string_view> names;
  for (const OperatorRow& row : OperatorRows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(Operators, ColumnsAgree) {
  for (const OperatorRow& row : OperatorRows()) {
    const bool work = row.info.kind == OpKind::kWork;
    // aten::_convolution is a frame, but where it is transposed it computes.
    const bool runs = work || row.name == "aten::_convolution";
    EXPECT_TRUE(runs || row.kernels.empty()) << row.name;
    EXPECT_TRUE(runs || row.cost == CostRule::kNone) << row.name;
    EXPECT_TRUE(runs || row.result == ResultRule::kNone) << row.name;
    EXPECT_TRUE(runs || row.bounds == BoundRule::kNone) << row.name;
    EXPECT_TRUE(row.kernels.empty() || row.cost != CostRule::kNone) << row.name;
    EXPECT_TRUE(row.arguments.empty() || row.cost != CostRule::kNone) << row.name;
    // In-place results follow without a rule.
    EXPECT_TRUE(!row.name.ends_with('_') || row.name.ends_with("__") ||
                row.result == ResultRule::kNone)
        << row.name;
    EXPECT_TRUE(!row.name.ends_with('*') || row.kernels.empty()) << row.name;
  }
}

// They call others, for buffers and sums, and compute by themselves.
TEST(Operators, RecurrentLayersAreWork) {
  for (const char* name :
       {"aten::_cudnn_rnn", "aten::_cudnn_rnn_backward", "aten::mkldnn_rnn_layer",
        "aten::mkldnn_rnn_layer_backward", "aten::miopen_rnn", "aten::miopen_rnn_backward"}) {
    const auto found = FindOperator(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->kind, OpKind::kWork) << name;
  }
  EXPECT_EQ(FindOperator("aten::lstm")->kind, OpKind::kComposite);
}

TEST(Operators, InPlaceOperatorsHaveRows) {
  const OperatorRow* mul = FindOperatorRow("aten::mul");
  const OperatorRow* in_place = FindOperatorRow("aten::mul_");
  ASSERT_TRUE(mul != nullptr && in_place != nullptr);
  EXPECT_EQ(in_place->name, "aten::mul_");
  EXPECT_EQ(in_place->info.op_class, OpClass::kElementwise);
  EXPECT_EQ(in_place->kernels, mul->kernels);
  EXPECT_EQ(in_place->cost, CostRule::kElementwise);
  EXPECT_EQ(in_place->result, ResultRule::kNone);
  EXPECT_EQ(in_place->signature.text, ".Tensor(TT)1");
  EXPECT_EQ(FindOperatorRow("aten::exp_")->signature.text, "(T)1");
  EXPECT_EQ(FindOperatorRow("aten::addmm_")->signature.text, "");
  EXPECT_EQ(FindOperatorRow("aten::bmm_"), nullptr);
}

TEST(ArgumentPlaces, OfKeysWordsAndDefaults) {
  const ArgumentPlaces places("op=add a=0 b=1 c=2?1 d=3?-inf e=4?most absent=5 absent=6 adaptive");
  EXPECT_EQ(places.Word("op"), "add");
  EXPECT_EQ(places.At("b"), 1);
  EXPECT_EQ(places.At("adaptive"), -1);
  EXPECT_TRUE(places.Has("adaptive"));
  EXPECT_FALSE(places.Has("f"));
  EXPECT_EQ(places.Default("a"), std::nullopt);
  EXPECT_EQ(places.Default("c"), 1);
  EXPECT_EQ(places.Default("d"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(places.Default("e"), std::numeric_limits<double>::max());
  EXPECT_EQ(places.All("absent"), (std::vector<int>{5, 6}));
}

TEST(ArgumentPlaces, InPlaceOperatorsHaveThoseOfTheOther) {
  EXPECT_EQ(ArgumentPlaces::Of("aten::add_").At("c"), 2);
  EXPECT_TRUE(ArgumentPlaces::Of("aten::unheard_of").empty());
  const OpCall call = {"aten::add_", {Value{1.5}, Value{std::int64_t{2}}}, {}};
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  EXPECT_EQ(places.Number(call, "a", 0), 1.5);
  EXPECT_EQ(places.Number(call, "c", 7), 7);
  EXPECT_EQ(places.Tensor(call, "a"), nullptr);
  EXPECT_EQ(places.Ints(call, "b"), (std::vector<std::int64_t>{2}));
}

}  // namespace
}  // namespace reprise
