// Element-wise operators and those that are made of them.
#include <unordered_map>

#include "core/costs/call_meaning.h"
#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/costs/steps.h"
#include "core/operator_arguments.h"

namespace reprise {
namespace {

struct Formula {
  double flops;
  std::string_view factor;
};

const Formula* FindFormula(std::string_view name) {
  static const std::unordered_map<std::string_view, Formula> table = {
#define FORMULA(name, flops, factor) {#name, {flops, #factor}},
#include "core/costs/formulas.def"
#undef FORMULA
  };
  const auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

}  // namespace

double FormulaFlops(std::string_view op) {
  const Formula* formula = FindFormula(op);
  return formula == nullptr ? 0 : formula->flops;
}

namespace cost_rules {

std::optional<Cost> Elementwise(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* result = ElementwiseResult(call);
  const Formula* formula =
      result == nullptr ? nullptr : FindFormula(FormulaOf(call, result->dtype));
  if (formula == nullptr) {
    return std::nullopt;
  }
  Cost cost{formula->flops, Bytes(result)};
  for (const std::string_view key : {"a", "b", "c", "d"}) {
    const int at = places.At(key);
    if (at < 0) {
      continue;
    }
    const std::optional<double> absent = places.Default(key);
    const TensorDesc* tensor = places.Tensor(call, key);
    if (tensor != nullptr && key == "d" && absent) {
      tensor = nullptr;  // the out= tensor where the number was left out
    }
    if (tensor == nullptr && !absent && static_cast<std::size_t>(at) >= call.inputs.size()) {
      return std::nullopt;  // another overload
    }
    cost.bytes += Bytes(tensor);
    const bool factor = key == formula->factor && tensor == nullptr;
    cost.flops -= factor && places.Number(call, key, absent.value_or(0)) == 1 ? 1 : 0;
  }
  return Cost{cost.flops * Elements(result), cost.bytes};
}

// where(condition) gives places: the same as nonzero.
std::optional<Cost> Where(const OpCall& call) {
  return call.inputs.size() == 1 ? Nonzero(call) : Elementwise(call);
}

std::optional<Cost> Glu(const OpCall& call) {
  return PerElement(call.OutputTensor(0), FormulaFlops("glu"), OperandBytes(call));
}

// The gradients of both halves, one after the other.
std::optional<Cost> GluBackward(const OpCall& call) {
  const double flops = FormulaFlops("glu") + FormulaFlops("glu_gate_grad");
  return Cost{flops * Elements(call.InputTensor(0)), OperandBytes(call)};
}

std::optional<Cost> PreluBackward(const OpCall& call) {
  return Cost{FormulaFlops("leaky_relu_backward") * Elements(call.OutputTensor(0)) +
                  FormulaFlops("prelu_weight_grad") * Elements(call.OutputTensor(1)),
              OperandBytes(call)};
}

std::optional<Cost> ForEach(const OpCall& call) {
  const auto steps = ForEachSteps(call);
  if (steps.empty()) {
    return std::nullopt;
  }
  Cost total;
  for (const OpCall& step : steps) {
    total += CostOf(step);
  }
  return total;
}

}  // namespace cost_rules
}  // namespace reprise
