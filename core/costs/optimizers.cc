// Fused optimizers and the gradient scaler. Operations are counted for each element of a parameter.
#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {
namespace {

bool Flag(const OpCall& call, const ArgumentPlaces& places, std::string_view key) {
  return places.Number(call, key, 0) != 0;
}

// Tensors among the arguments behind the lists: rates, scales, flags.
double ScalarBytes(const OpCall& call) {
  double bytes = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    bytes += Bytes(call.InputTensor(i));
  }
  return bytes;
}

double ElementsOf(const std::vector<const TensorDesc*>& tensors) {
  double elements = 0;
  for (const TensorDesc* tensor : tensors) {
    elements += Elements(tensor);
  }
  return elements;
}

}  // namespace

// _fused_adam_(self[], grads[], exp_avgs[], exp_avg_sqs[], max_exp_avg_sqs[], steps[], …).
// Loshchilov and Hutter, "Decoupled weight decay regularization", algorithm 2: mean 3, square 4,
// root, division, sum 3, update 3; decay 2 (of the parameter or added to the gradient), the largest
// square 1, the sign 1, the scale 1.
std::optional<Cost> Adam(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const auto params = call.InputTensors(0);
  const bool amsgrad = Flag(call, places, "amsgrad");
  const bool scaled = places.Tensor(call, "scale") != nullptr;
  const double flops = 13 + (Flag(call, places, "decay") ? 2 : 0) + (amsgrad ? 1 : 0) +
                       (Flag(call, places, "maximize") ? 1 : 0) + (scaled ? 1 : 0);
  const double grads = Bytes(call.InputTensors(1)) * (scaled ? 2 : 1);
  return Cost{flops * ElementsOf(params),
              2 * (Bytes(params) + Bytes(call.InputTensors(2)) + Bytes(call.InputTensors(3))) +
                  grads + (amsgrad ? 2 * Bytes(call.InputTensors(4)) : 0) +
                  Bytes(call.InputTensors(5)) + ScalarBytes(call)};
}

// _fused_sgd_(self[], grads[], momentum_buffers[], …). Update 2; decay 2; momentum 2, dampening 1,
// Nesterov 2; the sign 1, the scale 1. In the first step the gradient becomes the momentum.
std::optional<Cost> Sgd(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const auto params = call.InputTensors(0);
  const bool momentum = Flag(call, places, "momentum");
  const bool first = Flag(call, places, "first_step");
  const bool scaled = places.Tensor(call, "scale") != nullptr;
  double flops = 2 + (Flag(call, places, "decay") ? 2 : 0) +
                 (Flag(call, places, "maximize") ? 1 : 0) + (scaled ? 1 : 0);
  if (momentum) {
    flops += (first ? 0 : 2 + (Flag(call, places, "dampening") ? 1 : 0)) +
             (Flag(call, places, "nesterov") ? 2 : 0);
  }
  const double buffers = momentum ? Bytes(call.InputTensors(2)) * (first ? 1 : 2) : 0;
  return Cost{flops * ElementsOf(params), 2 * Bytes(params) +
                                              Bytes(call.InputTensors(1)) * (scaled ? 2 : 1) +
                                              buffers + ScalarBytes(call)};
}

// _amp_foreach_non_finite_check_and_unscale_(self[], found_inf, inv_scale): a comparison and a
// product for each element, in place.
std::optional<Cost> Unscale(const OpCall& call) {
  const auto grads = call.InputTensors(0);
  return Cost{2 * ElementsOf(grads),
              2 * Bytes(grads) + 2 * Bytes(call.InputTensor(1)) + Bytes(call.InputTensor(2))};
}

// _amp_update_scale_(self, growth_tracker, found_inf, …): a comparison, a count, a comparison, a
// product; scale and count in place.
std::optional<Cost> UpdateScale(const OpCall& call) {
  return Cost{4, 2 * Bytes(call.InputTensor(0)) + 2 * Bytes(call.InputTensor(1)) +
                     Bytes(call.InputTensor(2))};
}

}  // namespace reprise::cost_rules
