// Normalisations and softmax. Operations are counted for each element.
#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {
namespace {

struct NormCall {
  const TensorDesc* x;
  double weight, bias;  // 1: there is one
};

std::optional<NormCall> ParseNormCost(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const NormCall p{places.Tensor(call, "x"), places.Tensor(call, "weight") != nullptr ? 1.0 : 0.0,
                   places.Tensor(call, "bias") != nullptr ? 1.0 : 0.0};
  return p.x == nullptr ? std::nullopt : std::optional(p);
}

double Wanted(const OpCall& call, std::size_t result, double flops) {
  return call.OutputTensor(result) != nullptr ? flops : 0;
}

}  // namespace

// Mean 1, variance 3 (difference, square, sum), difference and product with 1 / deviation 2, weight
// and bias 1 each. Also group norm.
std::optional<Cost> LayerNorm(const OpCall& call) {
  const auto p = ParseNormCost(call);
  return p ? std::optional(Cost{Elements(p->x) * (6 + p->weight + p->bias), OperandBytes(call)})
           : std::nullopt;
}

// h = (x - mean) rstd: 2. dx = rstd (g w - mean(g w) - h mean(g w h)): g w 1, the means 1 and 2,
// the rest 4. dw sums g h: 2; db sums g: 1.
std::optional<Cost> LayerNormBackward(const OpCall& call) {
  const auto p = ParseNormCost(call);
  if (!p) {
    return std::nullopt;
  }
  const bool h = call.OutputTensor(0) != nullptr || call.OutputTensor(1) != nullptr;
  const double flops =
      (h ? 2 : 0) + Wanted(call, 0, 7 + p->weight) + Wanted(call, 1, 2) + Wanted(call, 2, 1);
  return Cost{Elements(p->x) * flops, OperandBytes(call)};
}

// Square and sum 2, product with 1 / root 1, weight 1.
std::optional<Cost> RmsNorm(const OpCall& call) {
  const auto p = ParseNormCost(call);
  return p ? std::optional(Cost{Elements(p->x) * (3 + p->weight), OperandBytes(call)})
           : std::nullopt;
}

// h = x rstd: 1. dx = rstd (g w - h mean(g w h)): g w 1, the mean 2, the rest 3. dw sums g h: 2.
std::optional<Cost> RmsNormBackward(const OpCall& call) {
  const auto p = ParseNormCost(call);
  if (!p) {
    return std::nullopt;
  }
  const double flops = 1 + Wanted(call, 0, 5 + p->weight) + Wanted(call, 1, 2);
  return Cost{Elements(p->x) * flops, OperandBytes(call)};
}

// As layer norm; evaluation takes the running statistics, training updates them.
std::optional<Cost> BatchNorm(const OpCall& call) {
  const auto p = ParseNormCost(call);
  if (!p) {
    return std::nullopt;
  }
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const bool training = places.Number(call, "training", 0) != 0;
  const double updated =
      training ? Bytes(places.Tensor(call, "mean")) + Bytes(places.Tensor(call, "variance")) : 0;
  return Cost{Elements(p->x) * ((training ? 4 : 0) + 2 + p->weight + p->bias),
              OperandBytes(call) + updated};
}

// Training: h 2, the sums of g and g h 3 (which are db and dw), dx = w rstd (g - m(g) - h m(g
// h)) 4. Evaluation: dx = w rstd g 1, dw: h 2 and its sum 2, db 1.
std::optional<Cost> BatchNormBackward(const OpCall& call) {
  const auto p = ParseNormCost(call);
  if (!p) {
    return std::nullopt;
  }
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const bool training = places.At("training") < 0 || places.Number(call, "training", 0) != 0;
  const bool dx = call.OutputTensor(0) != nullptr;
  const double flops =
      training && dx ? 9 : Wanted(call, 0, 1) + Wanted(call, 1, 4) + Wanted(call, 2, 1);
  return Cost{Elements(p->x) * flops, OperandBytes(call)};
}

// Largest, difference, exponential, sum, division; with a logarithm, the difference in place of the
// division.
std::optional<Cost> Softmax(const OpCall& call) {
  return PerElement(call.InputTensor(0), 5, OperandBytes(call));
}

// y (g - sum(g y)): product and sum 2, difference, product. g - exp(y) sum(g): sum, exponential,
// product, difference.
std::optional<Cost> SoftmaxBackward(const OpCall& call) {
  return PerElement(call.InputTensor(0), 4, OperandBytes(call));
}

}  // namespace reprise::cost_rules
