// Normalisations, softmax, reductions, sorts and losses.
#include "tests/costs/calls.h"

namespace reprise {
namespace {

constexpr DType kLong = DType::kInt64;

TEST(Norms, LayerNorm) {
  // 12 rows of 4: mean 1, variance 3, (x - mean) rstd 2, weight 1, bias 1.
  const Value x = D({3, 4, 4});
  ExpectCost({"aten::native_layer_norm",
              {x, Ints({4}), D({4}), D({4}), F(1e-5)},
              {D({3, 4, 4}), D({3, 4, 1}), D({3, 4, 1})}},
             48 * 8, 4 * (48 + 4 + 4 + 48 + 12 + 12));
  ExpectCost({"aten::native_layer_norm",
              {x, Ints({4}), N(), N(), F(1e-5)},
              {D({3, 4, 4}), D({3, 4, 1}), D({3, 4, 1})}},
             48 * 6, 4 * (48 + 48 + 12 + 12));
  // h 2, g w 1, its mean 1, the mean of g w h 2, dx 4, dw 2, db 1.
  const ValueList backward = {D({3, 4, 4}), x,      Ints({4}), D({3, 4, 1}),
                              D({3, 4, 1}), D({4}), D({4}),    L({B(true), B(true), B(true)})};
  ExpectCost({"aten::native_layer_norm_backward", backward, {D({3, 4, 4}), D({4}), D({4})}},
             48 * 13, 4 * (48 + 48 + 24 + 8 + 48 + 8));
  // Only dx.
  ExpectCost({"aten::native_layer_norm_backward", backward, {D({3, 4, 4}), N(), N()}}, 48 * 10,
             4 * (48 + 48 + 24 + 8 + 48));
}

TEST(Norms, RmsNorm) {
  // Square and sum 2, product 1, weight 1.
  const Value x = D({12, 4});
  ExpectCost({"aten::_fused_rms_norm", {x, Ints({4}), D({4}), N()}, {D({12, 4}), D({12, 1})}},
             48 * 4, 4 * (48 + 4 + 48 + 12));
  // h 1, g w 1, mean of g w h 2, rstd (g w - h m) 3, dw 2.
  ExpectCost({"aten::_fused_rms_norm_backward",
              {D({12, 4}), x, Ints({4}), D({12, 1}), D({4}), L({B(true), B(true)})},
              {D({12, 4}), D({4})}},
             48 * 9, 4 * (48 + 48 + 12 + 4 + 48 + 4));
}

TEST(Norms, GroupNorm) {
  const Value x = D({2, 4, 6});
  ExpectCost({"aten::native_group_norm",
              {x, D({4}), D({4}), I(2), I(4), I(6), I(2), F(1e-5)},
              {D({2, 4, 6}), D({2, 2}), D({2, 2})}},
             48 * 8, 4 * (48 + 8 + 48 + 8));
  ExpectCost({"aten::native_group_norm_backward",
              {D({2, 4, 6}), x, D({2, 2}), D({2, 2}), D({4}), I(2), I(4), I(6), I(2),
               L({B(true), B(true), B(true)})},
              {D({2, 4, 6}), D({4}), D({4})}},
             48 * 13, 4 * (48 + 48 + 8 + 4 + 48 + 8));
}

TEST(Norms, BatchNorm) {
  const Value x = D({2, 4, 6});
  const auto forward = [&](bool training, ValueList results) {
    return OpCall{"aten::native_batch_norm",
                  {x, D({4}), D({4}), D({4}), D({4}), B(training), F(0.1), F(1e-5)},
                  std::move(results)};
  };
  // As layer norm; the running statistics are read and written.
  ExpectCost(forward(true, {D({2, 4, 6}), D({4}), D({4})}), 48 * 8, 4 * (48 + 4 * 4 + 48 + 8 + 8));
  // Evaluation: (x - mean) rstd w + b.
  ExpectCost(forward(false, {D({2, 4, 6}), D({0}), D({0})}), 48 * 4, 4 * (48 + 16 + 48));
  const auto backward = [&](bool training, ValueList results) {
    return OpCall{"aten::native_batch_norm_backward",
                  {D({2, 4, 6}), x, D({4}), D({4}), D({4}), D({4}), D({4}), B(training), F(1e-5),
                   L({B(true), B(true), B(true)})},
                  std::move(results)};
  };
  // h 2, the sums of g and g h 3, dx 4; the sums are db and dw.
  ExpectCost(backward(true, {D({2, 4, 6}), D({4}), D({4})}), 48 * 9, 4 * (96 + 5 * 4 + 48 + 8));
  // Evaluation: dx a product 1, dw h 2 and 2, db 1.
  ExpectCost(backward(false, {D({2, 4, 6}), D({4}), D({4})}), 48 * 6, 4 * (96 + 20 + 48 + 8));
  ExpectCost(backward(false, {D({2, 4, 6}), N(), N()}), 48, 4 * (96 + 20 + 48));
  ExpectCost(
      {"aten::cudnn_batch_norm_backward",
       {x, D({2, 4, 6}), D({4}), D({4}), D({4}), D({4}), D({4}), F(1e-5), D({0}, DType::kUInt8)},
       {D({2, 4, 6}), D({4}), D({4})}},
      48 * 9, 4 * (96 + 20 + 48 + 8));
}

TEST(Softmax, ForwardAndBackward) {
  // Largest, difference, exp, sum, quotient; backward: y (g - sum(g y)).
  const Value x = D({8, 10}, DType::kBFloat16);
  ExpectCost({"aten::_softmax", {x, I(-1), B(false)}, {D({8, 10}, DType::kBFloat16)}}, 400, 320);
  // To float32.
  ExpectCost({"aten::_log_softmax", {x, I(-1), B(true)}, {D({8, 10})}}, 400, 160 + 320);
  ExpectCost({"aten::_softmax_backward_data", {D({8, 10}), D({8, 10}), I(-1), I(6)}, {D({8, 10})}},
             320, 960);
  ExpectCost(
      {"aten::_log_softmax_backward_data", {D({8, 10}), D({8, 10}), I(-1), I(6)}, {D({8, 10})}},
      320, 960);
}

TEST(Reductions, OneOperationAnElement) {
  const Value x = D({8, 10});
  ExpectCost({"aten::sum", {x, Ints({1}), B(false), N()}, {D({8})}}, 80, 320 + 32);
  ExpectCost({"aten::mean", {x, N()}, {D({})}}, 80, 324);
  // Expanded from 10 elements: 80 additions, 10 read.
  ExpectCost({"aten::sum", {{Tensor({8, 10}, {0, 1})}, Ints({0}), B(false), N()}, {D({10})}}, 80,
             80);
  ExpectCost({"aten::max", {x, I(1), B(false)}, {D({8}), D({8}, kLong)}}, 80, 320 + 32 + 64);
  // Of two tensors: one comparison a result.
  ExpectCost({"aten::max", {x, D({8, 10})}, {D({8, 10})}}, 80, 960);
  ExpectCost({"aten::argmax", {x, N(), B(false)}, {D({}, kLong)}}, 80, 328);
  ExpectCost({"aten::any", {D({80}, DType::kBool)}, {D({}, DType::kBool)}}, 80, 81);
  ExpectCost({"aten::count_nonzero", {x, N()}, {D({}, kLong)}}, 160, 328);
  ExpectCost({"aten::aminmax", {x, N(), B(false)}, {D({}), D({})}}, 160, 328);
  ExpectCost({"aten::cumsum", {x, I(1), N()}, {D({8, 10})}}, 80, 640);
  ExpectCost({"aten::median", {x}, {D({})}}, 80, 324);
  ExpectCost({"aten::bincount", {D({80}, kLong), N(), I(0)}, {D({10}, kLong)}}, 80, 720);
}

TEST(Reductions, NormsAndMoments) {
  const Value x = D({8, 10});
  ExpectCost({"aten::linalg_vector_norm", {x, I(2), N(), B(false), N()}, {D({})}}, 160, 324);
  // |x|, power, sum.
  ExpectCost({"aten::linalg_vector_norm", {x, I(3), N(), B(false), N()}, {D({})}}, 240, 324);
  // Mean, difference, square, sum.
  ExpectCost({"aten::var", {x, Ints({1}), B(true), B(false)}, {D({8})}}, 320, 352);
  // Largest, difference, exp, sum.
  ExpectCost({"aten::logsumexp", {x, Ints({1}), B(false)}, {D({8})}}, 320, 352);
}

TEST(Sorts, CompareByHalving) {
  // 5 lines of 8: 8 x 3 comparisons each.
  ExpectCost({"aten::sort", {D({5, 8}), I(-1), B(false)}, {D({5, 8}), D({5, 8}, kLong)}}, 120,
             160 + 160 + 320);
  ExpectCost({"aten::sort", {D({8, 5}), B(true), I(0), B(false)}, {D({8, 5}), D({8, 5}, kLong)}},
             120, 640);
  ExpectCost(
      {"aten::topk", {D({5, 8}), I(2), I(-1), B(true), B(true)}, {D({5, 2}), D({5, 2}, kLong)}},
      120, 160 + 40 + 80);
  // 7 boundaries: 8 places, 3 halvings, for each of 10.
  ExpectCost({"aten::bucketize", {D({10}), D({7}), B(false), B(false)}, {D({10}, kLong)}}, 30,
             40 + 28 + 80);
}

TEST(Losses, NegativeLogLikelihood) {
  // 6 rows of 100 classes: one prediction each; its negative and sum.
  const Value x = D({6, 100});
  const Value target = D({6}, kLong);
  ExpectCost({"aten::nll_loss_forward", {x, target, N(), I(1), I(-100)}, {D({}), D({})}}, 12,
             48 + 24 + 8);
  // Weights: read, multiplied, and added up.
  ExpectCost({"aten::nll_loss_forward", {x, target, D({100}), I(1), I(-100)}, {D({}), D({})}}, 24,
             48 + 48 + 8);
  // The whole gradient is written.
  ExpectCost(
      {"aten::nll_loss_backward", {D({}), x, target, N(), I(1), I(-100), D({})}, {D({6, 100})}}, 6,
      4 + 48 + 4 + 2400);
}

TEST(Losses, Pointwise) {
  const Value x = D({10});
  const Value t = D({10});
  // Difference, square, sum; without the sum 10 results.
  ExpectCost({"aten::mse_loss", {x, t, I(1)}, {D({})}}, 30, 84);
  ExpectCost({"aten::mse_loss", {x, t, I(0)}, {D({10})}}, 20, 120);
  // Difference, times 2 / n, times g.
  ExpectCost({"aten::mse_loss_backward", {D({}), x, t, I(1)}, {D({10})}}, 30, 4 + 120);
  ExpectCost({"aten::smooth_l1_loss", {x, t, I(1), F(1)}, {D({})}}, 70, 84);
  // Two logarithms, two limits, 1 - t, 1 - x, two products, sum, negative; the sum; a weight.
  ExpectCost({"aten::binary_cross_entropy", {x, t, N(), I(1)}, {D({})}}, 110, 84);
  ExpectCost({"aten::binary_cross_entropy", {x, t, D({10}), I(1)}, {D({})}}, 120, 124);
  // (x - t) / max((1 - x) x, eps) g: 6; times 1 / n.
  ExpectCost({"aten::binary_cross_entropy_backward", {D({}), x, t, N(), I(1)}, {D({10})}}, 70, 124);
  ExpectCost({"aten::binary_cross_entropy_with_logits", {x, t, N(), D({10}), I(2)}, {D({})}},
             10 * (10 + 4 + 1), 124);
}

}  // namespace
}  // namespace reprise
