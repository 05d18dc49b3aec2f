// Tables, indices, masks, images and optimizers; calls without a rule.
#include "core/operator_table.h"
#include "tests/costs/calls.h"

namespace reprise {
namespace {

constexpr DType kIndexType = DType::kInt64;
constexpr DType kBool = DType::kBool;

TEST(Tables, OnlyNamedRowsCount) {
  // 6 indices into rows of 4, of a million.
  const Value table = D({1'000'000, 4});
  const Value index = D({6}, kIndexType);
  ExpectCost({"aten::embedding", {table, index, I(-1), B(false), B(false)}, {D({6, 4})}}, 0,
             96 + 96 + 48);
  // The gradient: 24 additions, the whole table written.
  ExpectCost({"aten::embedding_dense_backward",
              {D({6, 4}), index, I(100), I(-1), B(false)},
              {D({100, 4})}},
             24, 96 + 48 + 1600);
  // Two bags of these 6: 24 additions; offsets, places and sizes too.
  const Value bags = D({2, 4});
  const ValueList state = {bags, D({6}, kIndexType), D({2}, kIndexType), D({2}, kIndexType)};
  ExpectCost({"aten::_embedding_bag",
              {table, index, D({2}, kIndexType), B(false), I(0), B(false), N(), B(false), I(-1)},
              state},
             24, 96 + 48 + 16 + 32 + 48 + 16 + 16);
  // A weight for each index: a product more.
  ExpectCost({"aten::_embedding_bag",
              {table, index, D({2}, kIndexType), B(false), I(0), B(false), D({6}), B(false), I(-1)},
              state},
             48, 96 + 48 + 16 + 24 + 32 + 48 + 16 + 16);
  // Backward, of means: 24 quotients and additions; 2 rows of gradients read, 100 written.
  ExpectCost({"aten::_embedding_bag_dense_backward",
              {bags, index, D({6}, kIndexType), D({2}, kIndexType), D({0}, kIndexType), I(100),
               B(false), I(1), N(), I(-1)},
              {D({100, 4})}},
             48, 32 + 48 + 48 + 16 + 1600);
}

TEST(Indices, ReadWhatTheySelect) {
  const Value x = D({100, 4});
  const Value index = D({6}, kIndexType);
  ExpectCost({"aten::index_select", {x, I(0), index}, {D({6, 4})}}, 0, 2 * 96 + 48);
  ExpectCost({"aten::index", {x, L({index})}, {D({6, 4})}}, 0, 2 * 96 + 48);
  ExpectCost({"aten::gather", {x, I(1), D({100, 1}, kIndexType), B(false)}, {D({100, 1})}}, 0,
             2 * 400 + 800);
  // A mask of 100: as many comparisons; 7 rows selected.
  ExpectCost({"aten::index", {x, L({D({100}, kBool)})}, {D({7, 4})}}, 100, 2 * 112 + 100);
  ExpectCost({"aten::masked_select", {x, D({100, 4}, kBool)}, {D({9})}}, 400, 2 * 36 + 400);
  ExpectCost({"aten::nonzero", {D({100}, kBool)}, {D({7, 1}, kIndexType)}}, 100, 100 + 56);
}

TEST(Indices, WriteWhatTheySelect) {
  const Value x = D({100, 4});
  const Value index = D({6}, kIndexType);
  // In place: 24 values read, 24 written.
  ExpectCost({"aten::index_put_", {x, L({index}), D({6, 4}), B(false)}, {x}}, 0, 48 + 96 + 96);
  // Added: their places are read too.
  ExpectCost({"aten::index_put_", {x, L({index}), D({6, 4}), B(true)}, {x}}, 24, 48 + 96 + 192);
  // A number for all of them.
  ExpectCost({"aten::index_put_", {x, L({index}), D({}), B(false)}, {x}}, 0, 48 + 4 + 96);
  // Into a copy: 400 read and written.
  ExpectCost({"aten::index_put", {x, L({index}), D({6, 4}), B(true)}, {D({100, 4})}}, 24,
             48 + 96 + 3200);
  // Along the second dimension, 5 columns of 100; alpha: a product each.
  ExpectCost({"aten::index_add_", {x, I(1), D({5}, kIndexType), D({100, 5}), I(1)}, {x}}, 500,
             40 + 2000 + 4000);
  ExpectCost({"aten::index_add_", {x, I(1), D({5}, kIndexType), D({100, 5}), I(2)}, {x}}, 1000,
             40 + 2000 + 4000);
  ExpectCost({"aten::scatter_", {x, I(1), D({100, 2}, kIndexType), F(1)}, {x}}, 0, 1600 + 800);
  ExpectCost({"aten::scatter_add_", {x, I(1), D({100, 2}, kIndexType), D({100, 2})}, {x}}, 200,
             1600 + 800 + 1600);
  // A mask: 7 rows of values; or one value, for at most all elements.
  ExpectCost({"aten::index_put_", {x, L({D({100}, kBool)}), D({7, 4}), B(false)}, {x}}, 100,
             100 + 112 + 112);
  ExpectCost({"aten::index_put_", {x, L({D({100}, kBool)}), D({}), B(false)}, {x}}, 100,
             100 + 4 + 1600);
}

TEST(Images, Pooling) {
  // (2, 3, 8, 8) to (2, 3, 4, 4): 96 windows of 3 x 3.
  const Value x = D({2, 3, 8, 8});
  const Value y = D({2, 3, 4, 4});
  const Value index = D({2, 3, 4, 4}, kIndexType);
  const ValueList sizes = {Ints({3, 3}), Ints({2, 2}), Ints({1, 1})};
  OpCall call = {"aten::max_pool2d_with_indices", {x}, {y, index}};
  call.inputs.insert(call.inputs.end(), sizes.begin(), sizes.end());
  ExpectCost(call, 96 * 9, 4 * (384 + 96) + 8 * 96);
  // One place a window is added to; the input is not read.
  ExpectCost({"aten::max_pool2d_with_indices_backward",
              {y, x, sizes[0], sizes[1], sizes[2], Ints({1, 1}), B(false), index},
              {D({2, 3, 8, 8})}},
             96, 4 * (96 + 384) + 8 * 96);
  ExpectCost({"aten::avg_pool2d_backward",
              {y, x, sizes[0], sizes[1], sizes[2], B(false), B(true), N()},
              {D({2, 3, 8, 8})}},
             96 * 9, 4 * (96 + 384));
  // 8 to 4: windows of 2 x 2. 8 to 3: windows [0, 3), [2, 6), [5, 8) of 3 + 4 + 3, in both
  // directions.
  ExpectCost({"aten::_adaptive_avg_pool2d", {x, Ints({4, 4})}, {y}}, 384, 4 * (384 + 96));
  ExpectCost({"aten::_adaptive_avg_pool2d", {x, Ints({3, 3})}, {D({2, 3, 3, 3})}}, 6 * 100,
             4 * (384 + 54));
}

TEST(Images, Resampling) {
  const Value x = D({2, 3, 4, 4});
  const Value y = D({2, 3, 8, 8});
  const double bytes = 4 * (96 + 384);
  ExpectCost({"aten::upsample_nearest2d", {x, Ints({8, 8}), N(), N()}, {y}}, 0, bytes);
  ExpectCost({"aten::upsample_nearest2d_backward",
              {y, Ints({8, 8}), Ints({2, 3, 4, 4}), N(), N()},
              {D({2, 3, 4, 4})}},
             384, bytes);
  // Four pixels, sixteen, two: a multiply-add each.
  ExpectCost({"aten::upsample_bilinear2d", {x, Ints({8, 8}), B(false), N(), N()}, {y}}, 384 * 8,
             bytes);
  ExpectCost({"aten::upsample_bicubic2d", {x, Ints({8, 8}), B(false), N(), N()}, {y}}, 384 * 32,
             bytes);
  ExpectCost({"aten::upsample_linear1d", {D({2, 3, 4}), Ints({8}), B(false), N()}, {D({2, 3, 8})}},
             48 * 4, 4 * (24 + 48));
}

TEST(Images, SamplingAtAGrid) {
  const Value x = D({2, 3, 8, 8});
  const Value grid = D({2, 4, 4, 2});
  const Value y = D({2, 3, 4, 4});
  // Four pixels, a multiply-add each; the nearest is copied.
  ExpectCost({"aten::grid_sampler_2d", {x, grid, I(0), I(0), B(false)}, {y}}, 96 * 8,
             4 * (384 + 64 + 96));
  ExpectCost({"aten::grid_sampler_2d", {x, grid, I(1), I(0), B(false)}, {y}}, 0,
             4 * (384 + 64 + 96));
  const auto backward = [&](std::int64_t mode, Value of_grid) {
    return OpCall{"aten::grid_sampler_2d_backward",
                  {y, x, grid, I(mode), I(0), B(false), L({B(true), B(true)})},
                  {D({2, 3, 8, 8}), std::move(of_grid)}};
  };
  // The image's gradient: g w added, 4 times 2. The grid's: g x, then two multiply-adds, 4 times 5.
  ExpectCost(backward(0, D({2, 4, 4, 2})), 96 * 28, 4 * (96 + 384 + 64 + 384 + 64));
  ExpectCost(backward(0, N()), 96 * 8, 4 * (96 + 64 + 384));
  ExpectCost(backward(1, D({2, 4, 4, 2})), 96, 4 * (96 + 64 + 384 + 64));
}

TEST(Images, WindowsAndPadding) {
  // 2 x 2 windows of (1, 3, 4, 4) at every place: 9 columns of 12.
  const ValueList sizes = {Ints({2, 2}), Ints({1, 1}), Ints({0, 0}), Ints({1, 1})};
  OpCall call = {"aten::im2col", {D({1, 3, 4, 4})}, {D({1, 12, 9})}};
  call.inputs.insert(call.inputs.end(), sizes.begin(), sizes.end());
  ExpectCost(call, 0, 4 * (48 + 108));
  call = {"aten::col2im", {D({1, 12, 9}), Ints({4, 4})}, {D({1, 3, 4, 4})}};
  call.inputs.insert(call.inputs.end(), sizes.begin(), sizes.end());
  ExpectCost(call, 108, 4 * (108 + 48));
  // The same windows as a view: 48 elements in memory.
  ExpectCost({"aten::sum", {{Tensor({3, 3, 2, 3, 2}, {16, 4, 4, 1, 1})}, N()}, {D({})}}, 108,
             4 * 48 + 4);
  ExpectCost({"aten::reflection_pad2d", {D({3, 4, 4}), Ints({1, 1, 1, 1})}, {D({3, 6, 6})}}, 0,
             4 * (48 + 108));
  ExpectCost({"aten::reflection_pad2d_backward",
              {D({3, 6, 6}), D({3, 4, 4}), Ints({1, 1, 1, 1})},
              {D({3, 4, 4})}},
             108, 4 * (108 + 48));
}

TEST(Optimizers, Adam) {
  const auto list = [] { return L({D({10}), D({6})}); };
  const auto call = [&](double decay, bool amsgrad, Value scale) {
    return OpCall{
        "aten::_fused_adamw_",
        {list(), list(), list(), list(), amsgrad ? list() : L({}), L({D({}), D({})}), F(1e-3),
         F(0.9), F(0.999), F(decay), F(1e-8), B(amsgrad), B(false), std::move(scale), N()},
        {}};
  };
  // m 3, v 4, sqrt, quotient, + eps 3, lr m / d 3. Parameter and both averages read and written,
  // the gradient read: 7 x 64 bytes, and two steps.
  ExpectCost(call(0, false, N()), 16 * 13, 7 * 64 + 8);
  ExpectCost(call(0.01, false, N()), 16 * 15, 7 * 64 + 8);
  ExpectCost(call(0.01, true, N()), 16 * 16, 9 * 64 + 8);
  // Gradients are divided by the scale and written back.
  ExpectCost(call(0.01, false, D({})), 16 * 16, 8 * 64 + 8 + 4);
}

TEST(Optimizers, Sgd) {
  const auto list = [] { return L({D({10}), D({6})}); };
  const auto call = [&](double decay, double momentum, double dampening, bool nesterov,
                        bool first) {
    return OpCall{"aten::_fused_sgd_",
                  {list(), list(), momentum != 0 ? list() : L({}), F(decay), F(momentum), F(0.1),
                   F(dampening), B(nesterov), B(false), B(first), N(), N()},
                  {}};
  };
  ExpectCost(call(0, 0, 0, false, false), 16 * 2, 3 * 64);       // p - lr g
  ExpectCost(call(0.1, 0.9, 0, false, false), 16 * 6, 5 * 64);   // + decay p; m b + g
  ExpectCost(call(0.1, 0.9, 0.5, true, false), 16 * 9, 5 * 64);  // (1 - d) g; g + m b
  ExpectCost(call(0, 0.9, 0, false, true), 16 * 2, 4 * 64);      // b = g
}

TEST(Optimizers, GradientScaling) {
  // Test and product; found_inf read and written, the scale read.
  ExpectCost({"aten::_amp_foreach_non_finite_check_and_unscale_",
              {L({D({10}), D({6})}), D({1}), D({1})},
              {}},
             32, 2 * 64 + 8 + 4);
  const Value scale = D({1});
  ExpectCost({"aten::_amp_update_scale_",
              {scale, D({}, DType::kInt32), D({1}), F(2), F(0.5), I(2000)},
              {scale}},
             4, 8 + 8 + 4);
}

TEST(Estimates, StandInWhereThereIsNoRule) {
  const OpCall unknown = {"made::up", {D({1000})}, {D({1000})}};
  EXPECT_FALSE(HasCostRule(unknown));
  EXPECT_DOUBLE_EQ(CostOf(unknown).bytes, 8000);
  EXPECT_DOUBLE_EQ(CostOf(unknown).flops, 1000);
  // A product that lacks an argument.
  EXPECT_FALSE(HasCostRule({"aten::mm", {D({3, 5})}, {}}));
}

TEST(Estimates, AnInductorKernelTouchesATensorOnceForEachPoint) {
  const Value table = D({1'000'000, 4});  // of which it takes rows
  const OpCall rows = {
      "triton_poi_fused_embedding_0", {D({6}, kIndexType), table, D({6, 4}), I(24)}, {}};
  EXPECT_DOUBLE_EQ(CostOf(rows).bytes, 48 + 96 + 96);
  EXPECT_DOUBLE_EQ(CostOf(rows).flops, 24);
  // Rows and what is reduced.
  const OpCall norm = {"triton_red_fused_mean_1", {D({6, 4}), D({6}), I(6), I(4)}, {}};
  EXPECT_DOUBLE_EQ(CostOf(norm).bytes, 96 + 24);
  EXPECT_DOUBLE_EQ(CostOf(norm).flops, 24);
}

TEST(Costs, NothingIsNegativeOrNanForAnyOperator) {
  // Arguments that fit no operator: no rule may trip over them.
  const std::vector<ValueList> inputs = {
      {},
      {D({2, 3})},
      {D({}), D({}), D({})},
      {L({D({2})}), L({})},
      {D({0}), D({0, 3}), I(7)},
      {D({2, 3, 4, 5}), D({2, 3, 4, 5}), D({2, 3, 4, 5}), D({2, 3, 4, 5}), N(), S("x"), B(true)},
      {N(), N(), N(), N(), N(), N(), N(), N(), N(), N(), N(), N()}};
  for (const OperatorRow& row : OperatorRows()) {
    for (const ValueList& arguments : inputs) {
      for (const ValueList& results : {ValueList{}, ValueList{D({2, 3})}, ValueList{D({0})}}) {
        const Cost cost = CostOf({std::string(row.name), arguments, results});
        EXPECT_TRUE(cost.flops >= 0 && cost.bytes >= 0 && cost.model_flops >= 0) << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace reprise
