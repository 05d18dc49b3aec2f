// Repeating elements: kernels/ops/indexing/index_read.cl. The result's size is the recorded one,
// whatever the (possibly synthetic) repeats add up to.
#include <algorithm>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/indexing/index_rows.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct RepeatInterleaveCall {
  const TensorDesc* self = nullptr;     // none: the result is the sources' indices themselves
  const TensorDesc* repeats = nullptr;  // none: every element `times` times
  const TensorDesc* out = nullptr;
  std::int64_t times = 1;
  std::int64_t batch = 1, n = 0, width = 1, count = 0;
};

// repeat_interleave(repeats, output_size), (self, repeats tensor or int, dim, output_size).
std::optional<RepeatInterleaveCall> ParseRepeatInterleave(const OpCall& call) {
  RepeatInterleaveCall p;
  p.out = call.OutputTensor(0);
  const TensorDesc* first = call.InputTensor(0);
  if (p.out == nullptr || first == nullptr) {
    return std::nullopt;
  }
  if (call.InputTensor(1) == nullptr && call.inputs.size() <= 2) {
    p.repeats = first;
    p.n = Count(*first);
    p.count = Count(*p.out);
    const bool fits = IsIndexType(first->dtype) && p.out->dtype == DType::kInt64 && p.n > 0;
    return fits ? std::optional(p) : std::nullopt;
  }
  p.self = first;
  p.repeats = call.InputTensor(1);
  p.times = call.Argument(1).AsNumber<std::int64_t>(1);
  p.n = Count(*first);
  p.count = Count(*p.out);
  if (IsInt(call.Argument(2))) {
    const auto dim = WrapDim(call.Argument(2).AsNumber<std::int64_t>(0), Rank(*first));
    if (!dim || Rank(*p.out) != Rank(*first)) {
      return std::nullopt;
    }
    const AroundDim around = SplitAt(*first, *dim);
    p.batch = around.outer;
    p.n = around.extent;
    p.width = around.inner;
    p.count = ExtentOf(*p.out, *dim);
  }
  const bool fits =
      p.n > 0 && p.times > 0 && p.self->dtype == p.out->dtype && IsKernelType(p.out->dtype) &&
      p.batch * p.count * p.width == Count(*p.out) &&
      (p.repeats == nullptr || (IsIndexType(p.repeats->dtype) && Count(*p.repeats) == p.n));
  return fits ? std::optional(p) : std::nullopt;
}

// Which element each of the results repeats.
Result<Integers> Sources(const RepeatInterleaveCall& p, const HostBindings& memory) {
  Integers sources;
  if (p.repeats != nullptr) {
    REPRISE_ASSIGN(const Integers repeats, ReadIntegers(*p.repeats, memory));
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      const std::int64_t room = p.count - static_cast<std::int64_t>(sources.size());
      sources.insert(sources.end(),
                     static_cast<std::size_t>(std::clamp<std::int64_t>(repeats[i], 0, room)),
                     static_cast<std::int64_t>(i));
    }
    sources.resize(static_cast<std::size_t>(p.count), p.n - 1);
    return sources;
  }
  for (std::int64_t k = 0; k < p.count; ++k) {
    sources.push_back(k / p.times);
  }
  return sources;
}

Status ReferenceRepeatInterleave(const RepeatInterleaveCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers sources, Sources(p, memory));
  if (p.self == nullptr) {
    return WriteIntegers(*p.out, memory, sources);
  }
  REPRISE_ASSIGN(const Bits self, ReadBits(*p.self, memory));
  Bits out;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (const std::int64_t source : sources) {
      const auto at = self.begin() + (b * p.n + std::min(source, p.n - 1)) * p.width;
      out.insert(out.end(), at, at + p.width);
    }
  }
  return WriteBits(*p.out, memory, out);
}

void LowerRepeatInterleave(const RepeatInterleaveCall& p, RowLowering& rows) {
  const DType elements = p.self == nullptr ? DType::kInt64 : p.self->dtype;
  rows.UseBits(elements, p.repeats == nullptr ? DType::kInt64 : p.repeats->dtype);
  DenseOperand sources;
  if (p.self == nullptr) {
    sources = rows.Write(*p.out);
  } else {
    sources = rows.Scratch(p.count * SizeOf(DType::kInt64));
  }
  if (p.repeats != nullptr) {
    const DenseOperand ends = rows.Scratch(p.n * SizeOf(DType::kInt64));
    rows.LaunchGroups("repeat_ends", 1, rows.Read(*p.repeats), ends, p.n);
    rows.LaunchItems("repeat_sources", p.count, ends, sources, p.n, p.count);
  } else {
    rows.LaunchItems("repeat_evenly", p.count, sources, p.count, p.times);
  }
  if (p.self != nullptr) {
    IndexRows job;
    job.batch = p.batch;
    job.table_rows = p.n;
    job.count = p.count;
    job.width = p.width;
    job.index.fill(sources);
    job.extents[0] = p.n;
    job.table = rows.Read(*p.self);
    job.rows = rows.Write(*p.out);
    AppendReadRows(rows, job, elements);
  }
}

std::vector<OpCall> RepeatInterleaveSamples() {
  using samples::Int, samples::None;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kInt64}) {
    samples::SampleTensors t;
    const TensorDesc repeats = t.Tensor(DType::kInt64, {8});
    const TensorDesc self = t.Tensor(dtype, {8});
    const TensorDesc matrix = t.Strided(dtype, {3, 8, 5}, {40, 1, 8});
    calls.push_back(
        {"aten::repeat_interleave", {{repeats}, None()}, {{t.Tensor(DType::kInt64, {23})}}});
    calls.push_back({"aten::repeat_interleave",
                     {{self}, {repeats}, None(), None()},
                     {{t.Tensor(dtype, {23})}}});
    calls.push_back({"aten::repeat_interleave",
                     {{matrix}, {repeats}, Int(1), None()},
                     {{t.Tensor(dtype, {3, 23, 5})}}});
    calls.push_back({"aten::repeat_interleave",
                     {{matrix}, Int(3), Int(-1), None()},
                     {{t.Tensor(dtype, {3, 8, 15})}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeRepeatInterleave() {
  return MakeParsedKernel(
      {"repeat_interleave", "index_read.cl", RepeatInterleaveSamples},
      CallForm<RepeatInterleaveCall>{ParseRepeatInterleave, ReferenceRepeatInterleave,
                                     LowerRepeatInterleave});
}

}  // namespace reprise
