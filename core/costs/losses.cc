// Losses. Operations are counted for each element, or for each row.
#include <algorithm>
#include <array>

#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {
namespace {

struct LossFlops {
  std::string_view loss;
  double forward, backward;
};
constexpr std::array kLossFlops = {
    // difference, square; backward: difference, and products with the gradient and a constant
    LossFlops{"mse", 2, 3},
    // difference, magnitude
    LossFlops{"l1", 2, 2},
    // |d|, comparison, 0.5 d d / beta; backward: difference, two comparisons, two products
    LossFlops{"smooth_l1", 6, 5},
    // |d|, comparison, 0.5 d d
    LossFlops{"huber", 5, 5},
    // -(t max(log x, -100) + (1 - t) max(log(1 - x), -100)); backward: (x - t) / max((1 - x) x,
    // eps)
    // times the gradient
    LossFlops{"binary_cross_entropy", 10, 6},
    // (1 - t) x + log1p(exp(-|x|)) + max(-x, 0)
    LossFlops{"binary_cross_entropy_with_logits", 10, 0},
};
// (1 + (p - 1) t) and its product.
constexpr double kPositiveFlops = 4;

constexpr double kMean = 1;
bool Reduces(const OpCall& call, const ArgumentPlaces& places) {
  return places.Number(call, "reduction", kMean) != 0;
}

}  // namespace

// Of each row one prediction is read: its negative and sum; with weights, its weight, their
// product and the weights' sum.
std::optional<Cost> NllLoss(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* x = places.Tensor(call, "x");
  const TensorDesc* target = places.Tensor(call, "target");
  if (x == nullptr || target == nullptr) {
    return std::nullopt;
  }
  const bool weighted = places.Tensor(call, "weight") != nullptr;
  const double rows = Elements(target);
  const double sums = Reduces(call, places) ? (weighted ? 2 : 1) : 0;
  return Cost{rows * (1 + (weighted ? 1 : 0) + sums),
              Bytes(target) + rows * SizeOf(x->dtype) * (weighted ? 2 : 1) + ResultBytes(call)};
}

// The whole gradient is written; of each row, the gradient's negative, and its product with the
// weight. Predictions are not read.
std::optional<Cost> NllLossBackward(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* x = places.Tensor(call, "x");
  const TensorDesc* target = places.Tensor(call, "target");
  if (x == nullptr || target == nullptr) {
    return std::nullopt;
  }
  const bool weighted = places.Tensor(call, "weight") != nullptr;
  const double rows = Elements(target);
  return Cost{rows * (weighted ? 2 : 1), Bytes(places.Tensor(call, "grad")) + Bytes(target) +
                                             Bytes(places.Tensor(call, "total")) +
                                             (weighted ? rows * SizeOf(x->dtype) : 0) +
                                             ResultBytes(call)};
}

// One more for a weight, for the sum, and (backward) for a mean's constant where the formula has
// none yet.
std::optional<Cost> PointwiseLoss(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const auto* row = std::find_if(kLossFlops.begin(), kLossFlops.end(), [&](const LossFlops& loss) {
    return loss.loss == places.Word("loss");
  });
  const TensorDesc* x = places.Tensor(call, "x");
  const TensorDesc* target = places.Tensor(call, "target");
  if (row == kLossFlops.end() || x == nullptr || target == nullptr) {
    return std::nullopt;
  }
  const bool backward = places.Has("grad");
  double flops = backward ? row->backward : row->forward;
  flops += places.Tensor(call, "weight") != nullptr ? 1 : 0;
  flops += places.Tensor(call, "positive") != nullptr ? kPositiveFlops : 0;
  flops += !backward && Reduces(call, places) ? 1 : 0;
  const bool constant = backward && row->loss == "binary_cross_entropy";
  flops += constant && places.Number(call, "reduction", kMean) == kMean ? 1 : 0;
  return Cost{flops * BroadcastElements({x, target}), OperandBytes(call)};
}

}  // namespace reprise::cost_rules
