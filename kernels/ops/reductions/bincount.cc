// Counting values, or those in parts of a range: kernels/ops/indexing/index_write.cl. The number of
// bins is the recorded one.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct BincountCall {
  const TensorDesc* self = nullptr;
  const TensorDesc* out = nullptr;
};

// bincount(self, weights, minlength), without weights.
std::optional<BincountCall> ParseBincount(const OpCall& call) {
  const BincountCall p{call.InputTensor(0), call.OutputTensor(0)};
  const bool fits = p.self != nullptr && p.out != nullptr && IsIndexType(p.self->dtype) &&
                    p.out->dtype == DType::kInt64 && Count(*p.out) > 0 &&
                    call.InputTensor(1) == nullptr;
  return fits ? std::optional(p) : std::nullopt;
}

Status ReferenceBincount(const BincountCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers values, ReadIntegers(*p.self, memory));
  Integers counts(static_cast<std::size_t>(Count(*p.out)), 0);
  for (const std::int64_t value : values) {
    ++counts[static_cast<std::size_t>(InRange(value, Count(*p.out)))];
  }
  return WriteIntegers(*p.out, memory, counts);
}

void LowerBincount(const BincountCall& p, RowLowering& rows) {
  const std::int64_t bins = Count(*p.out);
  rows.UseTypes({{"X", DType::kInt64}, {"I", p.self->dtype}}, DType::kInt64);
  // Each group reads all values: on a CPU one group counts them all.
  const std::int64_t block = rows.device().is_cpu ? bins : 1;
  rows.LaunchGroups("histogram", (bins + block - 1) / block, rows.Read(*p.self), rows.Write(*p.out),
                    Count(*p.self), bins, block);
}

// histc(self, bins, min, max): counts of values in equal parts of the range, in their own type.
struct HistcCall {
  const TensorDesc* self = nullptr;
  const TensorDesc* out = nullptr;
  float low = 0, high = 0;
};

// Without a range it is that of the values, which is not known before.
std::optional<HistcCall> ParseHistc(const OpCall& call) {
  const HistcCall p{call.InputTensor(0), call.OutputTensor(0), call.Argument(2).AsNumber(0.0F),
                    call.Argument(3).AsNumber(0.0F)};
  const bool fits = call.name == "aten::histc" && p.self != nullptr && p.out != nullptr &&
                    IsFloating(p.self->dtype) && p.out->dtype == p.self->dtype &&
                    Count(*p.out) > 0 && p.low < p.high;
  return fits ? std::optional(p) : std::nullopt;
}

Status ReferenceHistc(const HistcCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles values, ReadDoubles(*p.self, memory));
  Doubles counts(static_cast<std::size_t>(Count(*p.out)), 0);
  const auto parts = static_cast<double>(counts.size());
  for (const double value : values) {
    if (value >= p.low && value <= p.high) {
      const double part =
          std::min(std::floor((value - p.low) * parts / (p.high - p.low)), parts - 1);
      ++counts[static_cast<std::size_t>(part)];
    }
  }
  return WriteDoubles(*p.out, memory, counts);
}

void LowerHistc(const HistcCall& p, RowLowering& rows) {
  const std::int64_t parts = Count(*p.out);
  rows.UseTypes({{"X", p.self->dtype}, {"I", DType::kInt64}}, AccumulatorOf(p.self->dtype));
  const std::int64_t block = rows.device().is_cpu ? parts : 1;
  rows.LaunchGroups("parts_of_range", (parts + block - 1) / block, rows.Read(*p.self),
                    rows.Write(*p.out), Count(*p.self), p.low, p.high, parts, block);
}

std::vector<OpCall> BincountSamples() {
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    samples::SampleTensors t;
    const TensorDesc self = t.Strided(dtype, {301}, {2});
    calls.push_back({"aten::histc",
                     {{self}, samples::Int(7), samples::Double(-0.813), samples::Double(0.774)},
                     {{t.Tensor(dtype, {7})}}});
  }
  for (const DType dtype : {DType::kInt64, DType::kInt32}) {
    samples::SampleTensors t;
    const TensorDesc self = t.Strided(dtype, {301}, {2});
    calls.push_back({"aten::bincount",
                     {{self}, samples::None(), samples::Int(7)},
                     {{t.Tensor(DType::kInt64, {7})}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeBincount() {
  return MakeParsedKernel({"bincount", "index_write.cl", BincountSamples},
                          CallForm<BincountCall>{ParseBincount, ReferenceBincount, LowerBincount},
                          CallForm<HistcCall>{ParseHistc, ReferenceHistc, LowerHistc});
}

}  // namespace reprise
