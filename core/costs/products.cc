// Products of matrices and convolutions.
#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/costs/steps.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {

// D = alpha A B + beta C: a multiply-add for each element of A and each column of B (Golub, Van
// Loan: Matrix Computations, 1.1.15); one operation an element of D to add C, one to scale either.
std::optional<Cost> Product(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* a = places.Tensor(call, "a");
  const TensorDesc* b = places.Tensor(call, "b");
  const TensorDesc* rows = places.Tensor(call, "rows");  // B transposed, as layers keep weights
  const TensorDesc* d = call.OutputTensor(0);
  if (a == nullptr || d == nullptr || (b == nullptr && rows == nullptr)) {
    return std::nullopt;
  }
  const std::int64_t columns = rows != nullptr        ? rows->shape.empty() ? 1 : rows->shape[0]
                                      : b->shape.size() >= 2 ? b->shape.back()
                                                      : 1;
  const double beta = places.Number(call, "beta", 1);
  const bool adds = beta != 0 && places.Tensor(call, "addend") != nullptr;
  const TensorDesc* addend = adds ? places.Tensor(call, "addend") : nullptr;
  const TensorDesc* bias = places.Tensor(call, "bias");
  Cost cost;
  cost.flops = 2 * Elements(a) * static_cast<double>(columns);
  const int once = (adds ? 1 : 0) + (adds && beta != 1 ? 1 : 0) +
                   (places.Number(call, "alpha", 1) != 1 ? 1 : 0) + (bias != nullptr ? 1 : 0);
  cost.flops += once * Elements(d);
  cost.bytes = Bytes(a) + Bytes(b) + Bytes(rows) + Bytes(addend) + Bytes(bias) + Bytes(d);
  return Cost{cost.flops, cost.bytes};
}

// The result is written once, with the activation applied.
std::optional<Cost> ActivatedProduct(const OpCall& call) {
  const auto steps = ActivatedProductSteps(call);
  const auto product = Product(steps[0]);
  const auto activation = Elementwise(steps[1]);
  if (!product || !activation) {
    return std::nullopt;
  }
  return Cost{product->flops + activation->flops, product->bytes};
}

// For the result and for each gradient a multiply-add for each element of the (ordinary
// convolution's) output, of the window and of the group's input channels. A transposed convolution
// is the input's gradient of an ordinary one. Any number of dimensions.
std::optional<Cost> Convolution(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* input = places.Tensor(call, "input");
  const TensorDesc* weight = places.Tensor(call, "weight");
  const bool backward = places.Has("grad");
  const TensorDesc* output = backward ? places.Tensor(call, "grad") : call.OutputTensor(0);
  if (input == nullptr || weight == nullptr || output == nullptr || weight->shape.size() < 3 ||
      weight->shape[0] == 0) {
    return std::nullopt;
  }
  const bool always = places.Has("transposed") && places.At("transposed") < 0;
  const bool transposed = always || places.Number(call, "transposed", 0) != 0;
  // Weights are (output, input channels of a group, window …); transposed, the other way round.
  const double product = 2 * Elements(transposed ? input : output) * Elements(weight) /
                         static_cast<double>(weight->shape[0]);
  if (!backward) {
    const TensorDesc* bias = places.Tensor(call, "bias");
    return Cost{product + (bias != nullptr ? Elements(output) : 0),
                Bytes(input) + Bytes(weight) + Bytes(bias) + Bytes(output)};
  }
  const TensorDesc* of_input = call.OutputTensor(0);
  const TensorDesc* of_weight = call.OutputTensor(1);
  const TensorDesc* of_bias = call.OutputTensor(2);
  const int products = (of_input != nullptr ? 1 : 0) + (of_weight != nullptr ? 1 : 0);
  return Cost{products * product + (of_bias != nullptr ? Elements(output) : 0),
              Bytes(output) + (of_input != nullptr ? Bytes(weight) + Bytes(of_input) : 0) +
                  (of_weight != nullptr ? Bytes(input) + Bytes(of_weight) : 0) + Bytes(of_bias)};
}

}  // namespace reprise::cost_rules
