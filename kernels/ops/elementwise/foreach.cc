// Operators over lists of tensors, as the single operators that they stand for: one call a tensor.
#include <string>

#include "core/costs/steps.h"
#include "core/operator_arguments.h"
#include "core/operator_table.h"
#include "kernels/ops/common/call_steps.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

constexpr std::string_view kPrefix = "aten::_foreach_";

struct SampleLists {
  samples::SampleTensors t;
  std::vector<TensorDesc> Make() {
    return {t.Tensor(DType::kFloat32, {7}), t.Strided(DType::kFloat32, {3, 4}, {1, 3}, 2)};
  }
};

// Every overload that _foreach_<stem> has; by the operands of aten::<stem>.
void AddOverloads(std::string_view stem, SampleLists& lists, std::vector<OpCall>& calls) {
  using samples::Double, samples::Tensors;
  const ArgumentPlaces& places = ArgumentPlaces::Of("aten::" + std::string(stem));
  const std::string name = std::string(kPrefix) + std::string(stem);
  const Value self = Tensors(lists.Make()), a = Tensors(lists.Make()), b = Tensors(lists.Make());
  const Value out = Tensors(lists.Make());
  const Value scalars{ValueList{Double(0.25), Double(1.5)}};
  if (!places.Has("b")) {
    calls.push_back({name, {self}, {out}});
    calls.push_back({name + "_", {self}, {}});
  } else if (!places.Has("c") || places.Default("c")) {
    calls.push_back({name, {self, a}, {out}});
    calls.push_back({name + "_", {self, Double(0.75)}, {}});
    calls.push_back({name + "_", {self, scalars}, {}});
  } else if (stem == "lerp") {
    calls.push_back({name, {self, a, b}, {out}});
    calls.push_back({name + "_", {self, a, Double(0.1)}, {}});
  } else {
    calls.push_back({name, {self, a, b, Double(0.5)}, {out}});
    calls.push_back({name + "_", {self, a, b, scalars}, {}});
  }
}

std::vector<OpCall> ForeachSamples() {
  using samples::Double, samples::Int, samples::None, samples::Tensors;
  std::vector<OpCall> calls;
  SampleLists lists;
  for (const OperatorRow& row : OperatorRows()) {
    const std::string_view op = row.name;
    if (row.kernels == "foreach" && !op.ends_with('_') && op != "aten::_foreach_norm") {
      AddOverloads(op.substr(kPrefix.size()), lists, calls);
    }
  }
  const Value one{lists.t.Tensor(DType::kFloat32, {})};
  calls.push_back({"aten::_foreach_mul_", {Tensors(lists.Make()), one}, {}});
  calls.push_back(
      {"aten::_foreach_add_", {Tensors(lists.Make()), Tensors(lists.Make()), Double(-0.5)}, {}});
  const Value steps =
      Tensors({lists.t.Tensor(DType::kFloat32, {}), lists.t.Tensor(DType::kFloat32, {})});
  calls.push_back({"aten::_foreach_add_", {steps, Int(1)}, {}});
  calls.push_back({"aten::_foreach_norm", {Tensors(lists.Make()), Int(2), None()}, {steps}});
  const auto pair = lists.Make();
  for (const char* name : {"aten::max", "aten::min"}) {
    calls.push_back({name, {{pair[1]}, {lists.Make()[1]}}, {{lists.Make()[1]}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeForeach() {
  return MakeStepsKernel<ForEachSteps>({.name = "foreach", .samples = ForeachSamples});
}

}  // namespace reprise
