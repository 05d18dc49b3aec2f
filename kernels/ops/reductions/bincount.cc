// Counting values: kernels/ops/indexing/index_write.cl. The number of bins is the recorded one.
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

std::vector<OpCall> BincountSamples() {
  std::vector<OpCall> calls;
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
                          CallForm<BincountCall>{ParseBincount, ReferenceBincount, LowerBincount});
}

}  // namespace reprise
