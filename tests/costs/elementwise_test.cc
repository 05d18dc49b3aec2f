// Element-wise operators, lists of them, copies, constants and random numbers.
#include "tests/costs/calls.h"

namespace reprise {
namespace {

TEST(Elementwise, ReadsOperandsOnceAndWritesTheResult) {
  const Value x = D({4, 6});
  // 24 products; three tensors of 24.
  ExpectCost({"aten::mul", {x, D({4, 6})}, {D({4, 6})}}, 24, 3 * 96);
  // A row of 6 that broadcasts.
  ExpectCost({"aten::mul", {x, D({6})}, {D({4, 6})}}, 24, 2 * 96 + 24);
  // The same row, expanded before.
  ExpectCost({"aten::mul", {x, {Tensor({4, 6}, {0, 1})}}, {D({4, 6})}}, 24, 2 * 96 + 24);
  // A number; strides do not matter.
  ExpectCost({"aten::mul", {{Tensor({4, 6}, {1, 4})}, F(2)}, {D({4, 6})}}, 24, 2 * 96);
  // In place, with and without a recorded result; out=.
  ExpectCost({"aten::mul_", {x, D({4, 6})}, {x}}, 24, 3 * 96);
  ExpectCost({"aten::mul_", {x, D({4, 6})}, {}}, 24, 3 * 96);
  const Value out = D({4, 6});
  ExpectCost({"aten::mul", {x, D({4, 6}), out}, {out}}, 24, 3 * 96);
  // Two bytes in, one out.
  ExpectCost({"aten::gt", {D({8}, DType::kFloat16), F(0)}, {D({8}, DType::kBool)}}, 8, 16 + 8);
}

TEST(Elementwise, AScaleOfOneIsNoProduct) {
  const Value x = D({10});
  const Value y = D({10});
  const Value z = D({10});
  ExpectCost({"aten::add", {x, y, I(1)}, {D({10})}}, 10, 120);
  ExpectCost({"aten::add", {x, y}, {D({10})}}, 10, 120);
  ExpectCost({"aten::add", {x, y, F(0.5)}, {D({10})}}, 20, 120);
  ExpectCost({"aten::sub_", {x, F(3), I(1)}, {x}}, 10, 80);
  ExpectCost({"aten::addcmul", {x, y, z, I(1)}, {D({10})}}, 20, 160);
  ExpectCost({"aten::addcdiv_", {x, y, z, F(-1e-3)}, {x}}, 30, 160);
}

TEST(Elementwise, Formulas) {
  const Value x = D({10});
  const Value g = D({10});
  const auto forward = [&](const char* name, double flops, ValueList more = {}) {
    more.insert(more.begin(), x);
    ExpectCost({name, more, {D({10})}}, 10 * flops, 80);
  };
  const auto backward = [&](const char* name, double flops, ValueList more = {}) {
    more.insert(more.begin(), {g, x});
    ExpectCost({name, more, {D({10})}}, 10 * flops, 120);
  };
  forward("aten::exp", 1);
  forward("aten::relu", 1);                  // a comparison
  forward("aten::clamp", 2, {F(0), F(1)});   // two
  forward("aten::sigmoid", 4);               // negative, exp, + 1, 1 /
  forward("aten::silu", 4);                  // the same, x /
  forward("aten::gelu", 5, {S("none")});     // 0.5 x (1 + erf(x c))
  forward("aten::gelu", 9, {S("tanh")});     // x x x l 3, x + 1, k 1, tanh 1, 0.5 x (1 + t) 3
  forward("aten::leaky_relu", 2, {F(0.1)});  // comparison, product
  forward("aten::hardswish", 5);             // x + 3, two comparisons, product, / 6
  forward("aten::nan_to_num", 3, {N(), N(), N()});   // three comparisons
  forward("aten::softplus", 5, {F(1), F(20)});       // x b, comparison, exp, log1p, / b
  forward("aten::div", 2, {F(3), S("floor")});       // quotient, rounding
  forward("aten::remainder", 4, {F(3)});             // quotient, rounding, product, difference
  backward("aten::threshold_backward", 1, {F(0)});   // relu's: a comparison
  backward("aten::tanh_backward", 3);                // g (1 - y y)
  backward("aten::sigmoid_backward", 3);             // g (1 - y) y
  backward("aten::silu_backward", 9);                // s 4; g s (1 + x (1 - s)): 5
  backward("aten::gelu_backward", 11, {S("none")});  // density 4, distribution 4, g (d + x p) 3
  backward("aten::gelu_backward", 18, {S("tanh")});
  backward("aten::native_dropout_backward", 2, {F(2)});
}

TEST(Elementwise, EluBackwardIsFourFormulas) {
  const auto call = [](double scale, double input_scale, bool is_result) {
    return OpCall{"aten::elu_backward",
                  {D({10}), F(1), F(scale), F(input_scale), B(is_result), D({10})},
                  {D({10})}};
  };
  ExpectCost(call(1, 1, false), 60, 120);  // comparison, g a s exp(x s): x s, exp, three products
  ExpectCost(call(1, 1, true), 40, 120);   // comparison, g s (y + a)
  ExpectCost(call(1.05, 1, false), 40, 120);
  EXPECT_FALSE(HasCostRule(call(1.05, 2, false)));
}

TEST(Elementwise, SelectionsByMasks) {
  // Condition of one byte, two values; 12 comparisons.
  ExpectCost({"aten::where", {D({12}, DType::kBool), D({12}), F(0)}, {D({12})}}, 12, 12 + 96);
  ExpectCost({"aten::masked_fill", {D({12}), D({12}, DType::kBool), F(0)}, {D({12})}}, 12, 12 + 96);
  // where(condition): 12 comparisons, 5 places found.
  ExpectCost({"aten::where", {D({12}, DType::kBool)}, {D({5}, DType::kInt64)}}, 12, 12 + 40);
}

TEST(Elementwise, GatedUnits) {
  // 4 x 3 results: negative, exp, + 1, quotient.
  ExpectCost({"aten::glu", {D({4, 6}), I(-1)}, {D({4, 3})}}, 48, 4 * (24 + 12));
  // Backward: the value's gradient the same 4, the gate's s 4 and g v s (1 - s) 4.
  ExpectCost({"aten::glu_backward", {D({4, 3}), D({4, 6}), I(-1)}, {D({4, 6})}}, 12 * 12,
             4 * (12 + 24 + 24));
  // Both gradients: a comparison and a product.
  ExpectCost({"aten::_prelu_kernel_backward", {D({10}), D({10}), D({1})}, {D({10}), D({10})}}, 40,
             4 * (10 + 10 + 1 + 20));
}

TEST(Lists, CostWhatTheirElementsCost) {
  // 10 + 6 square roots; 10 + 6 products with a number; a norm of 10 and one of 6.
  const Value list = L({D({10}), D({2, 3})});
  ExpectCost({"aten::_foreach_sqrt", {list}, {L({D({10}), D({2, 3})})}}, 16, 128);
  ExpectCost({"aten::_foreach_mul_", {list, F(0.9)}, {}}, 16, 128);
  ExpectCost({"aten::_foreach_addcdiv_",
              {list, L({D({10}), D({2, 3})}), L({D({10}), D({2, 3})}), F(2)},
              {}},
             3 * 16, 4 * 64);
  ExpectCost({"aten::_foreach_norm", {list, I(2), N()}, {L({D({}), D({})})}}, 32, 64 + 8);
}

TEST(Moves, AreReadAndWrittenOnce) {
  const Value dst = D({4, 6});
  // A conversion: 2 bytes in, 4 out.
  ExpectCost({"aten::copy_", {dst, D({4, 6}, DType::kFloat16), B(false)}, {dst}}, 0, 48 + 96);
  // Of a row that broadcasts; result not recorded.
  ExpectCost({"aten::copy_", {dst, D({6}), B(false)}, {}}, 0, 24 + 96);
  ExpectCost({"aten::cat", {L({D({2, 6}), D({2, 6})}), I(0)}, {D({4, 6})}}, 0, 2 * 96);
  ExpectCost({"aten::cat", {L({D({2, 6}), D({2, 6})}), I(0), dst}, {dst}}, 0, 2 * 96);
  // Each element written 6 times, read once.
  ExpectCost({"aten::repeat", {D({4, 1}), Ints({1, 6})}, {D({4, 6})}}, 0, 16 + 96);
  // 24 inside 6 x 8: every result once.
  ExpectCost({"aten::constant_pad_nd", {dst, Ints({1, 1, 1, 1}), F(0)}, {D({6, 8})}}, 0, 96 + 192);
  ExpectCost({"aten::flip", {dst, Ints({0})}, {D({4, 6})}}, 0, 192);
  ExpectCost({"aten::tril_", {dst, I(0)}, {dst}}, 0, 192);
  ExpectCost({"aten::_foreach_copy_", {L({dst}), L({D({4, 6})}), B(false)}, {}}, 0, 192);
}

TEST(Moves, OfShardedParameters) {
  // Parts of 4 and 2 of a row of 8, for 3 rows; this rank's 6 of 12.
  ExpectCost({"aten::split_with_sizes_copy",
              {D({3, 8}), Ints({4, 2}), I(1), L({D({3, 4}), D({3, 2})})},
              {}},
             0, 2 * 4 * (12 + 6));
  const Value gathered = D({12});
  ExpectCost({"fsdp::all_gather_copy_in",
              {L({D({4}), D({2})}), gathered, Ints({4, 2}), I(6), I(1)},
              {D({6}), gathered}},
             0, 2 * 24);
  // Three rows of 5 as two chunks of 2 rows: 15 read, 20 written, zeros among them.
  const Value packed = D({2, 10});
  ExpectCost({"aten::_chunk_cat", {L({D({3, 5})}), I(0), I(2), packed}, {packed}}, 0, 60 + 80);
}

TEST(Constants, AreOnlyWritten) {
  const Value x = D({4, 6});
  ExpectCost({"aten::zero_", {x}, {x}}, 0, 96);
  ExpectCost({"aten::fill_", {x, F(1)}, {x}}, 0, 96);
  ExpectCost({"aten::fill_", {x, D({})}, {x}}, 0, 100);
  ExpectCost({"aten::_foreach_zero_", {L({x, D({10})})}, {}}, 0, 136);
  // start + i step: 24 x 2, 8 bytes each.
  ExpectCost({"aten::arange", {I(24), N(), N(), N(), N()}, {D({24}, DType::kInt64)}}, 48, 192);
}

TEST(RandomNumbers, AreTenOperationsEach) {
  const Value x = D({24});
  ExpectCost({"aten::normal_", {x, F(0), F(1), N()}, {x}}, 240, 96);
  // With probabilities to read.
  ExpectCost({"aten::bernoulli", {D({24}), N()}, {D({24})}}, 240, 192);
  // A comparison and a product more; a mask of one byte.
  ExpectCost({"aten::native_dropout", {D({24}), F(0.1), B(true)}, {D({24}), D({24}, DType::kBool)}},
             12 * 24, 192 + 24);
}

}  // namespace
}  // namespace reprise
