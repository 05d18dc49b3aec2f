// Copies, with conversion and any strides on both sides, and what is made of copies: concatenation,
// splitting, FSDP's packing.
#include <algorithm>
#include <array>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/copies/copy_plan.h"
#include "kernels/ops/elementwise/elementwise_call.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

ElementwiseCall AsCall(const CopyPlan::Piece& piece) {
  return CopyTo(piece.dst, ElementwiseCall::Tensor(piece.src));
}

ElementwiseCall FillCall(const CopyPlan& plan) {
  return CopyTo(*plan.fill, ElementwiseCall::Number(plan.fill_value, 0));
}

// The same bytes in a row on both sides.
bool IsPlain(const CopyPlan::Piece& piece, const IndexSpace& space) {
  return piece.dst.dtype == piece.src.dtype && piece.dst.incarnation != piece.src.incarnation &&
         ElementCount(piece.src.shape) == space.count && space.IsLinear(2);
}

bool IsNothing(const CopyPlan::Piece& piece) {
  return ElementCount(piece.dst.shape) == 0 ||
         (piece.dst.incarnation == piece.src.incarnation && piece.dst.dtype == piece.src.dtype &&
          piece.dst.offset == piece.src.offset && piece.dst.shape == piece.src.shape &&
          piece.dst.strides == piece.src.strides);
}

// A CPU's runtime copies with one thread, a kernel with all.
bool IsForAllCores(const CopyPlan::Piece& piece, const DeviceInfo& device) {
  constexpr std::int64_t kBytes = 1 << 20;
  const DType dtype = piece.dst.dtype;  // what programs compute in: moved as it is
  return device.is_cpu && (dtype == DType::kFloat32 || dtype == DType::kInt64) &&
         ElementCount(piece.dst.shape) * SizeOf(dtype) >= kBytes;
}

void LowerPiece(const CopyPlan::Piece& piece, RowLowering& rows) {
  const ElementwiseCall call = AsCall(piece);
  const std::optional<IndexSpace> space = SpaceOf(call);
  if (!space || !IsPlain(piece, *space) || IsForAllCores(piece, rows.device())) {
    return LowerElementwise(call, rows);
  }
  const std::int64_t size = SizeOf(piece.dst.dtype);
  rows.Append(
      Launch(DeviceCopy{rows.BufferFor(piece.dst), space->offset[0] * size,
                        rows.BufferFor(piece.src), space->offset[1] * size, space->count * size}));
}

Status ReferencePiece(const CopyPlan::Piece& piece, const HostBindings& memory) {
  return ReferenceElementwise(AsCall(piece), memory);
}

Status RunPiece(const CopyPlan::Piece& piece, const HostBindings& memory) {
  const ElementwiseCall call = AsCall(piece);
  const std::optional<IndexSpace> space = SpaceOf(call);
  if (!space || !IsPlain(piece, *space)) {
    return RunElementwise(call, memory);
  }
  REPRISE_ASSIGN(const HostTensor dst, HostTensor::Bind(piece.dst, memory));
  REPRISE_ASSIGN(const HostTensor src, HostTensor::Bind(piece.src, memory));
  const std::int64_t size = SizeOf(piece.dst.dtype);
  ParallelCopy(dst.data() + space->offset[0] * size, src.data() + space->offset[1] * size,
               space->count * size);
  return {};
}

std::optional<CopyPlan> ParseCopy(const OpCall& call) {
  std::optional<CopyPlan> plan = PlanCopy(call);
  const bool can_run = plan && (!plan->fill || CanRun(FillCall(*plan))) &&
                       std::all_of(plan->pieces.begin(), plan->pieces.end(),
                                   [](const auto& piece) { return CanRun(AsCall(piece)); });
  return can_run ? std::move(plan) : std::nullopt;
}

template <auto Fill, auto Copy>
Status Run(const CopyPlan& plan, const HostBindings& memory) {
  if (plan.fill) {
    REPRISE_TRY(Fill(FillCall(plan), memory));
  }
  for (const CopyPlan::Piece& piece : plan.pieces) {
    if (!IsNothing(piece)) {
      REPRISE_TRY(Copy(piece, memory));
    }
  }
  return {};
}

void LowerCopy(const CopyPlan& plan, RowLowering& rows) {
  if (plan.fill) {
    LowerElementwise(FillCall(plan), rows);
  }
  for (const CopyPlan::Piece& piece : plan.pieces) {
    if (!IsNothing(piece)) {
      LowerPiece(piece, rows);
    }
  }
}

void AddConversions(std::vector<OpCall>& calls) {
  using enum DType;
  constexpr std::array kTypes = {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64,
                                 kInt32,   kInt16,   kInt8,    kBool};
  for (const DType from : kTypes) {
    for (const DType to : {kFloat32, kFloat64, kBFloat16, kInt64, kUInt8, kBool}) {
      // Negative numbers have no unsigned value.
      if (to == kUInt8 && from != kBool) {
        continue;
      }
      samples::SampleTensors t;
      const Value dst{t.Strided(to, {3, 50, 7}, {7, 21, 1}, 3)};
      const Value src{t.Strided(from, {3, 50, 7}, {0, 1, 50})};
      calls.push_back({"aten::copy_", {dst, src, samples::Bool(false)}, {dst}});
    }
  }
}

void AddFsdp(std::vector<OpCall>& calls) {
  using samples::Int, samples::Ints, samples::Tensors;
  samples::SampleTensors t;
  const auto vector = [&](std::int64_t n) { return t.Tensor(DType::kFloat32, {n}); };
  // Two ranks, this one the second, 64 elements each.
  const TensorDesc gathered = vector(128);
  const TensorDesc part = samples::SampleTensors::Of(gathered, {64}, {1}, 64);
  const std::vector<TensorDesc> shards = {vector(48), vector(16)};
  calls.push_back({"fsdp::all_gather_copy_in",
                   {Tensors(shards), Value{gathered}, Ints({48, 16}), Int(64), Int(1)},
                   {Value{part}, Value{gathered}}});
  calls.push_back({"aten::_foreach_copy_",
                   {Tensors({samples::SampleTensors::Of(gathered, {48}, {1}, 0),
                             samples::SampleTensors::Of(gathered, {16}, {1}, 48)}),
                    Tensors(shards), samples::Bool(false)},
                   {}});
  const TensorDesc rows = samples::SampleTensors::Of(gathered, {2, 64}, {64, 1}, 0);
  const std::vector<TensorDesc> outs = {t.Tensor(DType::kFloat32, {2, 48}),
                                        t.Tensor(DType::kFloat32, {2, 16})};
  for (const char* name : {"aten::split_with_sizes_copy", "fsdp::split_with_sizes_copy"}) {
    calls.push_back({name, {Value{rows}, Ints({48, 16}), Int(1), Tensors(outs)}, {}});
  }
  // Three rows of five do not divide by two: padded.
  const std::vector<TensorDesc> grads = {t.Tensor(DType::kFloat32, {4, 6}), vector(8),
                                         t.Tensor(DType::kFloat32, {3, 5})};
  const Value packed{t.Tensor(DType::kFloat32, {2, 12 + 4 + 10})};
  for (const char* name : {"aten::_chunk_cat", "fsdp::chunk_cat", "fsdp::chunk_cat_mixed_dtype"}) {
    const ValueList outputs =
        name == std::string_view("aten::_chunk_cat") ? ValueList{packed} : ValueList{};
    calls.push_back({name, {Tensors(grads), Int(0), Int(2), packed}, outputs});
  }
}

void AddShuffles(std::vector<OpCall>& calls) {
  using samples::Int;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt64}) {
    samples::SampleTensors t;
    const Value channels{t.Tensor(dtype, {2, 12, 3, 5})};
    const Value pixels{t.Tensor(dtype, {2, 3, 6, 10})};
    const Value mixed{t.Tensor(dtype, {2, 12, 3, 5})};
    calls.push_back({"aten::pixel_shuffle", {channels, Int(2)}, {pixels}});
    calls.push_back({"aten::pixel_unshuffle", {pixels, Int(2)}, {mixed}});
    calls.push_back({"aten::channel_shuffle", {channels, Int(3)}, {mixed}});
    calls.push_back({"aten::native_channel_shuffle", {channels, Int(4)}, {mixed}});
  }
  samples::SampleTensors t;
  const auto f = DType::kFloat32;
  // By channels, without images, of one element, empty.
  calls.push_back({"aten::pixel_shuffle",
                   {Value{t.Strided(f, {2, 9, 4, 3}, {108, 1, 27, 9})}, Int(3)},
                   {Value{t.Strided(f, {2, 1, 12, 9}, {108, 1, 9, 1})}}});
  calls.push_back({"aten::pixel_shuffle",
                   {Value{t.Tensor(f, {4, 1, 1})}, Int(2)},
                   {Value{t.Tensor(f, {1, 2, 2})}}});
  calls.push_back({"aten::pixel_unshuffle",
                   {Value{t.Tensor(f, {0, 1, 4, 4})}, Int(2)},
                   {Value{t.Tensor(f, {0, 4, 2, 2})}}});
  calls.push_back({"aten::channel_shuffle",
                   {Value{t.Strided(f, {3, 6, 2}, {1, 6, 3})}, Int(2)},
                   {Value{t.Tensor(f, {3, 6, 2})}}});
}

std::vector<OpCall> CopySamples() {
  using samples::Int, samples::Ints, samples::Tensors;
  std::vector<OpCall> calls;
  AddConversions(calls);
  AddFsdp(calls);
  AddShuffles(calls);
  samples::SampleTensors t;
  const TensorDesc a = t.Tensor(DType::kFloat32, {3, 4, 5});
  const TensorDesc b = t.Strided(DType::kFloat32, {3, 2, 5}, {1, 15, 3});
  const Value joined{t.Tensor(DType::kFloat32, {3, 6, 5})};
  const Value same{t.Tensor(DType::kFloat32, {3, 4, 5})};
  calls.push_back({"aten::copy_", {same, Value{a}, samples::Bool(false)}, {same}});
  calls.push_back({"aten::_copy_from", {Value{a}, same, samples::Bool(false)}, {same}});
  calls.push_back({"aten::_copy_from_and_resize", {Value{a}, same}, {same}});
  calls.push_back({"aten::fill_", {same, Value{t.Tensor(DType::kFloat64, {})}}, {same}});
  calls.push_back({"aten::cat", {Tensors({a, b}), Int(1)}, {joined}});
  calls.push_back({"aten::cat", {Tensors({a, b}), Int(-2), joined}, {joined}});
  calls.push_back({"aten::_cat", {Tensors({a, b}), Int(1)}, {joined}});
  const Value stacked{t.Tensor(DType::kFloat32, {3, 2, 4, 5})};
  calls.push_back({"aten::stack", {Tensors({a, a}), Int(1)}, {stacked}});
  const Value ids{t.Tensor(DType::kInt64, {2, 3})};
  calls.push_back(
      {"aten::repeat", {ids, Ints({2, 4, 3})}, {Value{t.Tensor(DType::kInt64, {2, 8, 9})}}});
  calls.push_back({"aten::constant_pad_nd",
                   {Value{a}, Ints({1, 2, -1, 0}), samples::Double(0.5)},
                   {Value{t.Tensor(DType::kFloat32, {3, 3, 8})}}});
  calls.push_back({"aten::flip", {Value{a}, Ints({0, -1})}, {same}});
  calls.push_back({"aten::flip", {ids, Ints({1})}, {Value{t.Tensor(DType::kInt64, {2, 3})}}});
  calls.push_back({"aten::roll", {Value{a}, Ints({1, -7}), Ints({0, -1})}, {same}});
  calls.push_back({"aten::roll", {Value{a}, Ints({13}), Ints({})}, {same}});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeCopy() {
  return MakeParsedKernel({.name = "copy", .samples = CopySamples},
                          CallForm<CopyPlan>{ParseCopy, Run<ReferenceElementwise, ReferencePiece>,
                                             LowerCopy, Run<RunElementwise, RunPiece>});
}

}  // namespace reprise
