// Constants and sequences.
#include <cmath>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/elementwise/elementwise_steps.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"
#include "kernels/views.h"

namespace reprise {
namespace {

bool IsSequence(const OpCall& call) {
  return call.name == "aten::arange" || call.name == "aten::linspace";
}

// start + i × step
struct Sequence {
  const TensorDesc* out = nullptr;
  double start = 0;
  double step = 1;
};

// arange:   (end, dtype, layout, device, pin_memory), (start, end, dtype, …),
//           (start, end, step, dtype, …), or with out=: (end, out), (start, end, step, out)
// linspace: (start, end, steps, dtype, …) or (start, end, steps, out)
std::optional<Sequence> ParseSequence(const OpCall& call) {
  Sequence sequence{.out = call.OutputTensor(0)};
  if (!IsSequence(call) || sequence.out == nullptr || call.inputs.empty() ||
      !IsKernelType(sequence.out->dtype) || !IsContiguous(*sequence.out)) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t i) { return call.inputs[i].AsNumber<double>(0); };
  const std::size_t count = call.inputs.size();
  if (call.name == "aten::linspace") {
    if (count < 3) {
      return std::nullopt;
    }
    sequence.start = number(0);
    const double steps = number(2);
    sequence.step = steps > 1 ? (number(1) - number(0)) / (steps - 1) : 0;
    return sequence;
  }
  const bool with_out = call.inputs.back().AsTensor() != nullptr;
  const bool has_start = with_out ? count == 4 : count >= 6;
  const bool has_step = with_out ? count == 4 : count >= 7;
  sequence.start = has_start ? number(0) : 0;
  sequence.step = has_step ? number(2) : 1;
  return sequence;
}

std::optional<ElementwiseSteps> ParseFill(const OpCall& call) {
  std::vector<const TensorDesc*> tensors = {call.InputTensor(0)};
  Value value{std::int64_t{0}};
  if (call.name == "aten::_foreach_zero_") {
    tensors = TensorsIn(call.inputs);
  } else if (call.name == "aten::fill_") {
    // A tensor as the value is a copy (copy.cc).
    if (call.inputs.size() < 2 || call.inputs[1].AsTensor() != nullptr || call.inputs[1].IsNone()) {
      return std::nullopt;
    }
    value = call.inputs[1];
  } else if (call.name == "aten::scalar_tensor") {
    value = call.Argument(0);
    tensors = {IsNumber(value) ? call.OutputTensor(0) : nullptr};
  }
  if (IsSequence(call) || tensors.empty() || tensors[0] == nullptr) {
    return std::nullopt;
  }
  ElementwiseSteps fill;
  for (const TensorDesc* tensor : tensors) {
    fill.calls.push_back(CopyTo(*tensor, ElementwiseCall::Number(value, 0)));
  }
  return fill;
}

void LowerFill(const ElementwiseCall& call, RowLowering& rows) {
  const TensorDesc& tensor = *call.result;
  const std::optional<IndexSpace> space = SpaceOf(call);
  if (!space || !space->IsLinear(1)) {
    return LowerElementwise(call, rows);
  }
  const std::int64_t size = SizeOf(tensor.dtype);
  DeviceFill fill{rows.BufferFor(tensor), space->offset[0] * size, space->count * size, {}};
  fill.pattern.resize(static_cast<std::size_t>(size));
  if (IsIntegral(tensor.dtype)) {
    StoreInt(fill.pattern.data(), tensor.dtype, 0, call.operands[0].integer);
  } else {
    StoreDouble(fill.pattern.data(), tensor.dtype, 0, call.operands[0].real);
  }
  rows.Append(Launch(std::move(fill)));
}

void LowerSequence(const Sequence& sequence, RowLowering& rows) {
  const std::int64_t count = Count(*sequence.out);
  const auto launch = [&](const char* entry, auto start, auto step) {
    rows.LaunchItems(entry, count, rows.Write(*sequence.out), count, start, step);
  };
  rows.UseTypes({{"T", sequence.out->dtype}}, DType::kFloat32);
  const bool whole =
      sequence.start == std::floor(sequence.start) && sequence.step == std::floor(sequence.step);
  if (IsIntegral(sequence.out->dtype) && whole) {
    launch("sequence_integer", static_cast<std::int64_t>(sequence.start),
           static_cast<std::int64_t>(sequence.step));
  } else if (sequence.out->dtype == DType::kFloat64 && rows.device().fp64) {
    launch("sequence_double", sequence.start, sequence.step);
  } else {
    launch("sequence_real", static_cast<float>(sequence.start), static_cast<float>(sequence.step));
  }
}

Status RunSequence(const Sequence& sequence, const HostBindings& memory) {
  Doubles values(static_cast<std::size_t>(Count(*sequence.out)));
  for (double i = 0; double& value : values) {
    value = sequence.start + sequence.step * i++;
  }
  return WriteDoubles(*sequence.out, memory, values);
}

std::vector<OpCall> FillSamples() {
  using samples::Double, samples::Int, samples::None;
  std::vector<OpCall> calls;
  samples::SampleTensors t;
  using enum DType;
  for (const DType dtype :
       {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool}) {
    const Value whole{t.Tensor(dtype, {3, 129})};
    const Value part{t.Strided(dtype, {7, 5}, {11, 2}, 3)};
    for (const Value& self : {whole, part}) {
      calls.push_back({"aten::fill_", {self, IsIntegral(dtype) ? Int(3) : Double(-1.5)}, {self}});
      calls.push_back({"aten::zero_", {self}, {self}});
    }
  }
  const Value counters{t.Tensor(kInt64, {4, 1})};
  calls.push_back({"aten::fill_", {counters, Double(0.0)}, {counters}});
  const std::vector<TensorDesc> list = {t.Tensor(kFloat32, {31}), t.Tensor(kFloat32, {2, 3})};
  calls.push_back({"aten::_foreach_zero_", {samples::Tensors(list)}, {}});
  const Value ids{t.Tensor(kInt64, {64})};
  const Value reals{t.Tensor(kFloat32, {32})};
  const Value doubles{t.Tensor(kFloat64, {9})};
  const Value none = None();
  for (const DType dtype : {kFloat32, kInt64}) {
    calls.push_back({"aten::scalar_tensor", {Double(-2), none, none}, {{t.Tensor(dtype, {})}}});
  }
  calls.push_back({"aten::arange", {Int(64), none, none, none, none}, {ids}});
  calls.push_back({"aten::arange", {Int(5), Int(69), Int(4), Int(0), none, none}, {ids}});
  calls.push_back({"aten::arange", {Int(5), Int(133), Int(2), Int(4), none, none, none}, {ids}});
  calls.push_back({"aten::arange", {Int(0), Double(32), Int(1), reals}, {reals}});
  calls.push_back({"aten::arange", {Int(64), ids}, {ids}});
  calls.push_back({"aten::linspace", {Int(-1), Int(1), Int(32), none, none, none, none}, {reals}});
  calls.push_back({"aten::linspace", {Int(0), Int(2), Int(9), doubles}, {doubles}});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeFill() {
  return MakeParsedKernel({"fill", "fill.cl", FillSamples},
                          CallForm<Sequence>{ParseSequence, RunSequence, LowerSequence},
                          StepsForm<ParseFill, LowerFill>());
}

}  // namespace reprise
