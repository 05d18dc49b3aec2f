// Products, convolutions and attention: numbers derived by hand, written out beside the call.
#include "tests/costs/calls.h"

namespace reprise {
namespace {

constexpr DType kHalf = DType::kBFloat16;

TEST(Products, MatrixTimesMatrix) {
  // (3 x 5)(5 x 7): 21 results of 5 multiply-adds. 15 + 35 + 21 elements of 4 bytes, or of 2.
  ExpectCost({"aten::mm", {D({3, 5}), D({5, 7})}, {D({3, 7})}}, 210, 284);
  ExpectCost({"aten::mm", {D({3, 5}, kHalf), D({5, 7}, kHalf)}, {D({3, 7}, kHalf)}}, 210, 142);
  // 2 of them.
  ExpectCost({"aten::bmm", {D({2, 3, 5}), D({2, 5, 7})}, {D({2, 3, 7})}}, 420, 568);
  // 3 results, and one: 3 rows and one of 5 multiply-adds.
  ExpectCost({"aten::mv", {D({3, 5}), D({5})}, {D({3})}}, 30, 4 * (15 + 5 + 3));
  ExpectCost({"aten::dot", {D({5}), D({5})}, {D({})}}, 10, 4 * (5 + 5 + 1));
  // Integers count as well: 1 byte in, 4 out.
  ExpectCost({"aten::_int_mm",
              {D({3, 5}, DType::kInt8), D({5, 7}, DType::kInt8)},
              {D({3, 7}, DType::kInt32)}},
             210, 15 + 35 + 84);
}

TEST(Products, PackedNumbersCountEach) {
  // (3 x 10) by (10 x 7) in 4 bits: two numbers of the inner dimension a byte.
  constexpr DType kPacked = DType::kFloat4E2M1x2;
  const TensorDesc turned = Tensor({5, 7}, {1, 5}, kPacked);
  const Value scale_a = D({3, 1}, DType::kFloat8E4M3);
  const Value scale_b = D({7, 1}, DType::kFloat8E4M3);
  ExpectCost({"aten::_scaled_mm",
              {D({3, 5}, kPacked), {turned}, scale_a, scale_b},
              {D({3, 7}, DType::kBFloat16)}},
             2 * 3 * 10 * 7, 15 + 35 + 2 * 21);
}

TEST(Products, TransposedOperandsCostTheSame) {
  ExpectCost({"aten::mm", {D({3, 5}), {Tensor({5, 7}, {1, 5})}}, {D({3, 7})}}, 210, 284);
}

TEST(Products, ABroadcastMatrixIsReadOnce) {
  // The second operand is one (5 x 7) matrix, expanded to 2.
  ExpectCost({"aten::bmm", {D({2, 3, 5}), {Tensor({2, 5, 7}, {0, 7, 1})}}, {D({2, 3, 7})}}, 420,
             4 * (30 + 35 + 42));
}

TEST(Products, AddendAndScales) {
  const Value a = D({3, 5});
  const Value b = D({5, 7});
  const Value out = D({3, 7});
  // A bias of 7: one addition for each of 21 results.
  ExpectCost({"aten::addmm", {D({7}), a, b, I(1), I(1)}, {out}}, 210 + 21, 284 + 28);
  // beta C: a product more each. alpha: another.
  ExpectCost({"aten::addmm", {D({7}), a, b, I(2), I(1)}, {out}}, 210 + 42, 284 + 28);
  ExpectCost({"aten::addmm", {D({7}), a, b, F(0.5), F(-2)}, {out}}, 210 + 63, 284 + 28);
  // beta 0: the addend is not read.
  ExpectCost({"aten::addmm", {D({7}), a, b, I(0), I(1)}, {out}}, 210, 284);
  // In place: read and written.
  ExpectCost({"aten::addmm_", {out, a, b, I(1), I(1)}, {out}}, 231, 284 + 84);
  // A sum over a batch of 2: 21 results of 2 x 5 multiply-adds.
  ExpectCost({"aten::addbmm", {out, D({2, 3, 5}), D({2, 5, 7}), I(1), I(1)}, {D({3, 7})}}, 420 + 21,
             4 * (21 + 30 + 70 + 21));
  // A layer keeps its weight as (results, inputs): 3 x 7 results of 5, and the bias.
  ExpectCost({"aten::mkldnn_linear", {a, D({7, 5}), D({7})}, {out}}, 210 + 21, 284 + 28);
}

TEST(Products, AnActivationAddsItsOperations) {
  const ValueList inputs = {D({7}), D({3, 5}), D({5, 7}), I(1), I(1)};
  OpCall call = {"aten::_addmm_activation", inputs, {D({3, 7})}};
  call.inputs.push_back(B(false));  // relu: a comparison for each of 21
  ExpectCost(call, 231 + 21, 284 + 28);
  call.inputs.back() = B(true);  // gelu: a / sqrt(2), erf, + 1, times a, times 0.5
  ExpectCost(call, 231 + 5 * 21, 284 + 28);
}

TEST(Convolutions, Forward) {
  // (2, 4, 8, 8) with 6 windows of 4 x 3 x 3, stride 2, padding 1: 2 x 6 x 4 x 4 = 192 results of
  // 36 multiply-adds, and the bias.
  const Value x = D({2, 4, 8, 8});
  const Value w = D({6, 4, 3, 3});
  const Value y = D({2, 6, 4, 4});
  const double bytes = 4 * (512 + 216 + 192);
  const ValueList sizes = {Ints({1, 1}), Ints({2, 2}), Ints({1, 1}), I(1)};
  OpCall call = {"aten::mkldnn_convolution", {x, w, D({6})}, {y}};
  call.inputs.insert(call.inputs.end(), sizes.begin(), sizes.end());
  ExpectCost(call, 192 * 72 + 192, bytes + 24);
  call.inputs[2] = N();
  ExpectCost(call, 192 * 72, bytes);
  // In two groups each result has 2 x 3 x 3 multiply-adds.
  call.inputs[1] = D({6, 2, 3, 3});
  ExpectCost(call, 192 * 36, bytes - 4 * 108);
}

TEST(Convolutions, OneAndThreeDimensions) {
  // 2 x 6 x 10 results of 4 x 3.
  ExpectCost({"aten::mkldnn_convolution",
              {D({2, 4, 10}), D({6, 4, 3}), N(), Ints({1}), Ints({1}), Ints({1}), I(1)},
              {D({2, 6, 10})}},
             120 * 24, 4 * (80 + 72 + 120));
  // 1 x 2 x 3 x 3 x 3 results of 3 x 2 x 2 x 2.
  ExpectCost({"aten::cudnn_convolution",
              {D({1, 3, 4, 4, 4}), D({2, 3, 2, 2, 2}), Ints({0, 0, 0}), Ints({1, 1, 1}),
               Ints({1, 1, 1}), I(1), B(false), B(false), B(true)},
              {D({1, 2, 3, 3, 3})}},
             54 * 48, 4 * (192 + 48 + 54));
}

TEST(Convolutions, Transposed) {
  // Each of 2 x 4 x 5 x 5 = 200 inputs meets 3 x 2 x 2 weights.
  ExpectCost({"aten::slow_conv_transpose2d",
              {D({2, 4, 5, 5}), D({4, 3, 2, 2}), Ints({2, 2}), N(), Ints({2, 2}), Ints({0, 0}),
               Ints({0, 0}), Ints({1, 1})},
              {D({2, 3, 10, 10})}},
             200 * 24, 4 * (200 + 48 + 600));
}

TEST(Convolutions, Backward) {
  const Value g = D({2, 6, 4, 4});
  const Value x = D({2, 4, 8, 8});
  const Value w = D({6, 4, 3, 3});
  const auto call = [&](Value dx, Value dw, Value db) {
    return OpCall{"aten::convolution_backward",
                  {g, x, w, Ints({6}), Ints({2, 2}), Ints({1, 1}), Ints({1, 1}), B(false),
                   Ints({0, 0}), I(1), L({B(true), B(true), B(true)})},
                  {std::move(dx), std::move(dw), std::move(db)}};
  };
  // Two gradients of 192 x 36 multiply-adds, and 192 additions for the bias.
  ExpectCost(call(D({2, 4, 8, 8}), D({6, 4, 3, 3}), D({6})), 2 * 192 * 72 + 192,
             4 * (192 + 512 + 216 + 512 + 216 + 6));
  // A first layer: only the weight's. The weight is not read.
  ExpectCost(call(N(), D({6, 4, 3, 3}), N()), 192 * 72, 4 * (192 + 512 + 216));
}

// q, k, v, out of 2 heads of 3 queries, 5 keys, 4 features and 6 of values.
struct AttentionTensors {
  Value q = D({1, 2, 3, 4}), k = D({1, 2, 5, 4}), v = D({1, 2, 5, 6}), out = D({1, 2, 3, 6});
  Value lse = D({1, 2, 3});
};
constexpr double kForwardBytes = 4 * (24 + 40 + 60 + 36 + 6);

TEST(Attention, Forward) {
  // 2 x 3 x 5 = 30 pairs, of 2 x 4 + 2 x 6 for the products and 5 for softmax.
  const AttentionTensors t;
  ExpectCost({"aten::_scaled_dot_product_flash_attention_for_cpu",
              {t.q, t.k, t.v, F(0), B(false), N(), N()},
              {t.out, t.lse}},
             30 * 25, kForwardBytes);
  // A mask that is added: one more, and its 15 elements; expanded to the heads, the same 15.
  ExpectCost({"aten::_scaled_dot_product_flash_attention_for_cpu",
              {t.q, t.k, t.v, F(0), B(false), {Tensor({1, 2, 3, 5}, {15, 0, 5, 1})}, N()},
              {t.out, t.lse}},
             30 * 26, kForwardBytes + 60);
}

TEST(Attention, GroupedQueries) {
  // 4 heads of queries share 2 of keys and values: 4 x 3 x 5 pairs of 2 x 4 + 2 x 4 + 5.
  ExpectCost({"aten::_scaled_dot_product_flash_attention",
              {D({1, 4, 3, 4}, kHalf), D({1, 2, 5, 4}, kHalf), D({1, 2, 5, 4}, kHalf), F(0),
               B(false), B(false), N()},
              {D({1, 4, 3, 4}, kHalf), D({1, 4, 3})}},
             60 * 21, 2 * (48 + 40 + 40 + 48) + 4 * 12);
}

TEST(Attention, ACausalMaskLeavesHalf) {
  const AttentionTensors t;
  // Query i sees i + 1 keys: 1 + 2 + 3 of 15 in each of 2 heads.
  ExpectCost({"aten::_scaled_dot_product_flash_attention_for_cpu",
              {t.q, t.k, t.v, F(0), B(true), N(), N()},
              {t.out, t.lse}},
             12 * 25, kForwardBytes);
  // Flash attention's own operators align the last query and key: 3 + 4 + 5.
  const OpCall call = {"aten::_flash_attention_forward",
                       {D({1, 3, 2, 4}), D({1, 5, 2, 4}), D({1, 5, 2, 6}), N(), N(), I(3), I(5),
                        F(0), B(true), B(false), N(), N(), N(), N(), N()},
                       {D({1, 3, 2, 6}), D({1, 2, 3})}};
  ExpectCost(call, 24 * 25, kForwardBytes);
  EXPECT_DOUBLE_EQ(CostOf(call).model_flops, 24 * 25);
  // More queries than keys: 1 + 2 + 2 + 2 of 4 x 2.
  ExpectCost({"aten::_scaled_dot_product_flash_attention_for_cpu",
              {D({1, 1, 4, 4}), D({1, 1, 2, 4}), D({1, 1, 2, 4}), F(0), B(true), N(), N()},
              {D({1, 1, 4, 4}), D({1, 1, 4})}},
             7 * 21, 4 * (16 + 8 + 8 + 16 + 4));
}

TEST(Attention, BackwardHasTwoNumbers) {
  const AttentionTensors t;
  const auto call = [&](bool causal) {
    return OpCall{"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                  {D({1, 2, 3, 6}), t.q, t.k, t.v, t.out, t.lse, F(0), B(causal), N(), N()},
                  {D({1, 2, 3, 4}), D({1, 2, 5, 4}), D({1, 2, 5, 6})}};
  };
  // 30 pairs. Executed: S, dQ and dK of 2 x 4, dP and dV of 2 x 6, 5 between. Bytes: the forward's,
  // the gradient of 36, and three results.
  const double bytes = kForwardBytes + 4 * (36 + 24 + 40 + 60);
  ExpectCost(call(false), 30 * (3 * 8 + 2 * 12 + 5), bytes);
  // Model: twice the forward's 25.
  EXPECT_DOUBLE_EQ(CostOf(call(false)).model_flops, 2 * 30 * 25);
  ExpectCost(call(true), 12 * 53, bytes);
  EXPECT_DOUBLE_EQ(CostOf(call(true)).model_flops, 2 * 12 * 25);
}

TEST(Attention, PackedSequencesAreEstimated) {
  // (tokens, heads, features): where sequences begin is data.
  const OpCall call = {"aten::_flash_attention_forward",
                       {D({8, 2, 4}), D({8, 2, 4}), D({8, 2, 4}), D({3}, DType::kInt32),
                        D({3}, DType::kInt32), I(4), I(4), F(0), B(false), B(false), N()},
                       {D({8, 2, 4}), D({2, 8})}};
  EXPECT_FALSE(HasCostRule(call));
  EXPECT_GT(CostOf(call).bytes, 0);
}

TEST(Attention, PackedSequencesWhoseStartsAreNumbers) {
  // Sequences of 5 and 3 tokens: 15 + 6 pairs of 2 heads.
  const Value starts = {ValueList{I(0), I(5), I(8)}};
  const auto row = [] { return D({8, 2, 4}); };
  const OpCall forward = {"aten::_flash_attention_forward",
                          {row(), row(), row(), starts, starts, I(5), I(5), F(0), B(true), B(false),
                           N(), N(), N(), N(), N()},
                          {row(), D({2, 8})}};
  const double bytes = 4 * (4 * 64 + 16);
  ExpectCost(forward, 2 * 21 * (4 * 4 + 5), bytes);
  const OpCall backward = {"aten::_flash_attention_backward",
                           {row(), row(), row(), row(), row(), D({2, 8}), starts, starts, I(5),
                            I(5), F(0), B(true), N(), N(), N(), N(), N()},
                           {row(), row(), row()}};
  ExpectCost(backward, 2 * 21 * (10 * 4 + 5), 4 * (8 * 64 + 16));
  const WorkShape shape = WorkShapeOf(forward);
  EXPECT_EQ(shape.m, 4);
  EXPECT_EQ(shape.batch, 2 * 2);
  // Starts of other tokens say nothing.
  OpCall wrong = forward;
  wrong.inputs[3] = {ValueList{I(0), I(9)}};
  EXPECT_FALSE(HasCostRule(wrong));
}

}  // namespace
}  // namespace reprise
