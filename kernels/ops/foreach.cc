// Operators over lists of tensors, as the single operators that they stand for: one call a tensor.
#include <algorithm>
#include <array>
#include <string>

#include "costs/steps.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

constexpr std::string_view kPrefix = "aten::_foreach_";
// As prefix + name and prefix + name + "_".
constexpr std::array<std::string_view, 24> kUnary = {
    "sqrt",  "rsqrt", "neg",   "abs",   "exp",  "log",  "log2",       "log10",
    "log1p", "expm1", "sin",   "cos",   "tan",  "tanh", "sigmoid",    "erf",
    "ceil",  "floor", "round", "trunc", "frac", "sign", "reciprocal", "erfc"};
constexpr std::array<std::string_view, 9> kBinary = {
    "add", "sub", "mul", "div", "pow", "clamp_min", "clamp_max", "minimum", "maximum"};
constexpr std::array<std::string_view, 3> kTernary = {"addcmul", "addcdiv", "lerp"};

std::vector<std::string> Names() {
  std::vector<std::string> names = {"aten::max", "aten::min", "aten::_foreach_norm"};
  const auto add = [&](std::span<const std::string_view> stems) {
    for (const std::string_view stem : stems) {
      names.push_back(std::string(kPrefix) + std::string(stem));
      names.push_back(names.back() + "_");
    }
  };
  add(kUnary);
  add(kBinary);
  add(kTernary);
  return names;
}

class Foreach final : public Kernel {
 public:
  Foreach() : names_(Names()), operators_(names_.begin(), names_.end()) {}
  [[nodiscard]] std::string_view name() const override { return "foreach"; }
  [[nodiscard]] std::span<const std::string_view> operators() const override { return operators_; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    const std::vector<OpCall> calls = ForEachSteps(call);
    return !calls.empty() && std::all_of(calls.begin(), calls.end(), [](const OpCall& one) {
      return KernelRegistry::Builtin().Find(one) != nullptr;
    });
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    for (const OpCall& one : ForEachSteps(call)) {
      REPRISE_TRY(KernelRegistry::Builtin().Find(one)->Reference(one, memory));
    }
    return {};
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    for (const OpCall& one : ForEachSteps(call)) {
      REPRISE_TRY(KernelRegistry::Builtin().Find(one)->RunOnHost(one, memory));
    }
    return {};
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    std::vector<Launch> launches;
    for (const OpCall& one : ForEachSteps(call)) {
      REPRISE_ASSIGN(std::vector<Launch> some,
                     KernelRegistry::Builtin().Find(one)->LowerToDevice(one, context));
      std::move(some.begin(), some.end(), std::back_inserter(launches));
    }
    return launches;
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override;

 private:
  std::vector<std::string> names_;
  std::vector<std::string_view> operators_;
};

struct SampleLists {
  samples::SampleTensors t;
  std::vector<TensorDesc> Make() {
    return {t.Tensor(DType::kFloat32, {7}), t.Strided(DType::kFloat32, {3, 4}, {1, 3}, 2)};
  }
};

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
  const Value numbers{lists.t.Strided(DType::kFloat32, {2}, {3})};
  calls.push_back({name, {self, a, b, Double(0.5)}, {out}});
  calls.push_back({name + "_", {self, a, b, scalars}, {}});
  calls.push_back({name + "_", {self, a, b, numbers}, {}});
}

std::vector<OpCall> Foreach::Samples() const {
  using samples::Double;
  using samples::Int;
  using samples::None;
  using samples::Tensors;
  std::vector<OpCall> calls;
  SampleLists lists;
  for (const std::string_view stem : kUnary) {
    const std::string name = std::string(kPrefix) + std::string(stem);
    const Value self = Tensors(lists.Make());
    calls.push_back({name, {self}, {Tensors(lists.Make())}});
    calls.push_back({name + "_", {self}, {}});
  }
  for (const std::string_view stem : kBinary) {
    AddOverloads(stem, lists, calls);
  }
  const Value one{lists.t.Tensor(DType::kFloat32, {})};
  calls.push_back({"aten::_foreach_mul_", {Tensors(lists.Make()), one}, {}});
  calls.push_back(
      {"aten::_foreach_add_", {Tensors(lists.Make()), Tensors(lists.Make()), Double(-0.5)}, {}});
  const Value steps =
      Tensors({lists.t.Tensor(DType::kFloat32, {}), lists.t.Tensor(DType::kFloat32, {})});
  calls.push_back({"aten::_foreach_add_", {steps, Int(1)}, {}});
  for (const std::string_view stem : kTernary) {
    AddTernary(stem, lists, calls);
  }
  calls.push_back({"aten::_foreach_norm", {Tensors(lists.Make()), Int(2), None()}, {steps}});
  const auto pair = lists.Make();
  for (const char* name : {"aten::max", "aten::min"}) {
    calls.push_back({name, {{pair[1]}, {lists.Make()[1]}}, {{lists.Make()[1]}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeForeach() { return std::make_unique<Foreach>(); }

}  // namespace reprise
