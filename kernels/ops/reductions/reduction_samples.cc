// Calls for conformance tests: reductions in every overload, small, odd and large.

#include "kernels/ops/reductions/reduction_plan.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::Ints, samples::None,
    samples::SampleTensors;

// Every overload that captures show, and each shape class: rows, columns, scattered dimensions,
// all.
void AddFloatSamples(DType dtype, std::vector<OpCall>& calls) {
  SampleTensors t;
  const TensorDesc x = t.Tensor(dtype, {3, 37, 21});
  const TensorDesc cut = t.Strided(dtype, {3, 7, 5}, {100, 5, 1}, 3);
  const TensorDesc last = t.Tensor(dtype, {3, 37});
  const TensorDesc middle = t.Strided(dtype, {3, 1, 21}, {50, 7, 2});
  const TensorDesc ends = t.Tensor(dtype, {37});
  const TensorDesc one = t.Tensor(dtype, {});
  const TensorDesc seven = t.Tensor(dtype, {7});
  const TensorDesc truth = t.Tensor(DType::kBool, {37});
  const TensorDesc number = t.Tensor(DType::kInt64, {3, 37});
  calls.push_back({"aten::sum", {{x}, None()}, {{one}}});
  calls.push_back({"aten::sum", {{x}, Ints({}), Bool(false), None()}, {{one}}});
  calls.push_back({"aten::sum", {{x}, Ints({1}), Bool(true), None()}, {{middle}}});
  calls.push_back({"aten::sum", {{cut}, Ints({0, -1}), Bool(false), None()}, {{seven}}});
  calls.push_back({"aten::sum", {{x}, Ints({-1}), Bool(false), Int(6), {last}}, {{last}}});
  calls.push_back({"aten::mean", {{x}, Ints({0, 2}), Bool(false), None()}, {{ends}}});
  calls.push_back({"aten::mean", {{x}, None()}, {{one}}});
  calls.push_back({"aten::nansum", {{x}, Ints({2}), Bool(false), None()}, {{last}}});
  calls.push_back(
      {"aten::prod", {{cut}, Int(-1), Bool(true), None()}, {{t.Tensor(dtype, {3, 7, 1})}}});
  calls.push_back({"aten::amax", {{x}, Ints({1}), Bool(false)}, {{middle}}});
  calls.push_back({"aten::amin", {{x}, Ints({2}), Bool(false)}, {{last}}});
  calls.push_back({"aten::max", {{x}}, {{one}}});
  calls.push_back({"aten::min", {{cut}}, {{one}}});
  calls.push_back(
      {"aten::aminmax", {{x}, Int(2), Bool(false)}, {{last}, {t.Tensor(dtype, {3, 37})}}});
  calls.push_back({"aten::any", {{x}, Ints({0, 2}), Bool(false)}, {{truth}}});
  calls.push_back({"aten::all", {{x}, Ints({0, 2}), Bool(false)}, {{truth}}});
  calls.push_back({"aten::count_nonzero", {{x}, Ints({2})}, {{number}}});
  calls.push_back({"aten::norm", {{x}, Int(2)}, {{one}}});
  calls.push_back({"aten::norm", {{x}, Double(1), Ints({2}), Bool(false)}, {{last}}});
  for (const double p : {0.0, 3.0, kInfinity, -kInfinity}) {
    calls.push_back(
        {"aten::linalg_vector_norm", {{x}, Double(p), Ints({1}), Bool(true), None()}, {{middle}}});
  }
}

}  // namespace

std::vector<OpCall> ReductionSamples() {
  std::vector<OpCall> calls;
  AddFloatSamples(DType::kFloat32, calls);
  SampleTensors t;
  const TensorDesc large = t.Tensor(DType::kFloat32, {3, 70001});
  calls.push_back({"aten::sum", {{large}, None()}, {{t.Tensor(DType::kFloat32, {})}}});
  calls.push_back({"aten::all", {{large}}, {{t.Tensor(DType::kBool, {})}}});
  calls.push_back({"aten::count_nonzero", {{large}, None()}, {{t.Tensor(DType::kInt64, {})}}});
  // More columns than a work-group takes at once.
  const TensorDesc wide = t.Tensor(DType::kFloat32, {70, 1051});
  calls.push_back({"aten::sum",
                   {{wide}, Ints({0}), Bool(false), None()},
                   {{t.Tensor(DType::kFloat32, {1051})}}});
  const TensorDesc tall = t.Tensor(DType::kFloat32, {30001, 3});
  calls.push_back(
      {"aten::mean", {{tall}, Ints({0}), Bool(false), None()}, {{t.Tensor(DType::kFloat32, {3})}}});
  for (const DType dtype : {DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
    const TensorDesc x = t.Tensor(dtype, {5, 19});
    const TensorDesc y = t.Tensor(dtype, {1, 19});
    calls.push_back({"aten::sum", {{x}, Ints({0}), Bool(true), None()}, {{y}}});
  }
  const TensorDesc half = t.Tensor(DType::kBFloat16, {5, 19});
  calls.push_back({"aten::sum", {{half}, Int(6)}, {{t.Tensor(DType::kFloat32, {})}}});
  const TensorDesc ints = t.Tensor(DType::kInt64, {5, 19, 3});
  const TensorDesc sums = t.Tensor(DType::kInt64, {5, 3});
  const TensorDesc int_one = t.Tensor(DType::kInt64, {});
  calls.push_back({"aten::sum", {{ints}, Ints({1}), Bool(false), None()}, {{sums}}});
  calls.push_back({"aten::prod", {{ints}, Int(1), Bool(false), None()}, {{sums}}});
  calls.push_back({"aten::max", {{ints}}, {{int_one}}});
  calls.push_back({"aten::min", {{ints}}, {{int_one}}});
  calls.push_back({"aten::mean", {{ints}, Int(6)}, {{t.Tensor(DType::kFloat32, {})}}});
  const TensorDesc flags = t.Tensor(DType::kBool, {5, 19, 3});
  const TensorDesc truth = t.Tensor(DType::kBool, {5, 19});
  calls.push_back({"aten::sum", {{flags}, None()}, {{int_one}}});
  calls.push_back({"aten::any", {{flags}, Int(2), Bool(false)}, {{truth}}});
  calls.push_back({"aten::all", {{flags}, Ints({2}), Bool(false)}, {{truth}}});
  return calls;
}

}  // namespace reprise
