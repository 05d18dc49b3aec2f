// Operators over lists of tensors, as the single operators that they stand for: one call a tensor.
#include <string>

#include "core/operator_arguments.h"
#include "costs/steps.h"
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

void AddUnary(std::string_view stem, SampleLists& lists, std::vector<OpCall>& calls) {
  const std::string name = std::string(kPrefix) + std::string(stem);
  const Value self = samples::Tensors(lists.Make());
  calls.push_back({name, {self}, {samples::Tensors(lists.Make())}});
  calls.push_back({name + "_", {self}, {}});
}

void AddOverloads(std::string_view stem, SampleLists& lists, std::vector<OpCall>& calls) {
  using samples::Double;
  const std::string name = std::string(kPrefix) + std::string(stem);
  const auto self = lists.Make();
  const Value a = samples::Tensors(lists.Make());
  const Value scalars{ValueList{Double(0.25), Double(1.5)}};
  calls.push_back({name, {samples::Tensors(self), a}, {samples::Tensors(lists.Make())}});
  calls.push_back({name + "_", {samples::Tensors(self), Double(0.75)}, {}});
  calls.push_back({name + "_", {samples::Tensors(self), scalars}, {}});
}

void AddTernary(std::string_view stem, SampleLists& lists, std::vector<OpCall>& calls) {
  using samples::Double;
  const std::string name = std::string(kPrefix) + std::string(stem);
  const Value self = samples::Tensors(lists.Make());
  const Value a = samples::Tensors(lists.Make());
  const Value b = samples::Tensors(lists.Make());
  const Value out = samples::Tensors(lists.Make());
  const Value scalars{ValueList{Double(0.25), Double(1.5)}};
  if (stem == "lerp") {
    calls.push_back({name, {self, a, b}, {out}});
    calls.push_back({name + "_", {self, a, Double(0.1)}, {}});
    return;
  }
  calls.push_back({name, {self, a, b, Double(0.5)}, {out}});
  calls.push_back({name + "_", {self, a, b, scalars}, {}});
}

std::vector<OpCall> ForeachSamples() {
  using samples::Double;
  using samples::Int;
  using samples::None;
  using samples::Tensors;
  std::vector<OpCall> calls;
  SampleLists lists;
  for (const OperatorRow& row : OperatorRows()) {
    const std::string_view op = row.name;
    if (row.kernels != "foreach" || op.ends_with('_') || op == "aten::_foreach_norm") {
      continue;
    }
    const std::string_view stem = op.substr(kPrefix.size());
    const ArgumentPlaces& places = ArgumentPlaces::Of("aten::" + std::string(stem));
    if (!places.Has("b")) {
      AddUnary(stem, lists, calls);
    } else if (!places.Has("c") || places.Default("c")) {
      AddOverloads(stem, lists, calls);
    } else {
      AddTernary(stem, lists, calls);
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
