// Cumulative sums and products along a dimension: kernels/ops/reductions/scan.cl.
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct ScanCall {
  const TensorDesc* self = nullptr;
  const TensorDesc* out = nullptr;
  AroundDim around;  // of the dense operands
  bool product = false;
};

// cumsum(self, dim, dtype); in place the result is self.
std::optional<ScanCall> ParseScan(const OpCall& call) {
  ScanCall p;
  p.self = call.InputTensor(0);
  p.out = call.OutputTensor(0);
  if (p.self == nullptr || p.out == nullptr || !IsKernelType(p.self->dtype) ||
      !IsKernelType(p.out->dtype) || p.self->shape != p.out->shape) {
    return std::nullopt;
  }
  const auto dim = WrapDim(call.Argument(1).AsNumber<std::int64_t>(0), Rank(*p.self));
  if (!dim) {
    return std::nullopt;
  }
  p.around = SplitAt(*p.self, *dim);
  p.product = call.name.starts_with("aten::cumprod");
  return p;
}

template <typename T>
void Accumulate(const ScanCall& p, std::vector<T>& values) {
  for (std::int64_t line = 0; line < p.around.outer * p.around.inner; ++line) {
    const std::int64_t begin =
        line / p.around.inner * p.around.extent * p.around.inner + line % p.around.inner;
    for (std::int64_t i = 1; i < p.around.extent; ++i) {
      T& value = values[static_cast<std::size_t>(begin + i * p.around.inner)];
      const T before = values[static_cast<std::size_t>(begin + (i - 1) * p.around.inner)];
      value = p.product ? before * value : before + value;
    }
  }
}

Status ReferenceScan(const ScanCall& p, const HostBindings& memory) {
  return InKindOf(p.out->dtype, [&](auto* read, auto* write) -> Status {
    REPRISE_ASSIGN(auto values, read(*p.self, memory));
    Accumulate(p, values);
    return write(*p.out, memory, values);
  });
}

void LowerScan(const ScanCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.self->dtype}, {"Y", p.out->dtype}}, AccumulatorOf(p.out->dtype));
  rows.LaunchRows(p.product ? "cumulative_product" : "cumulative_sum",
                  p.around.outer * p.around.inner, static_cast<double>(p.around.extent),
                  rows.Read(*p.self), rows.Write(*p.out), p.around.outer, p.around.extent,
                  p.around.inner);
}

std::vector<OpCall> ScanSamples() {
  using samples::Int, samples::None;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64}) {
    for (const std::int64_t dim : {0, 1, -1}) {
      samples::SampleTensors t;
      const TensorDesc self = t.Strided(dtype, {3, 41, 5}, {5, 15, 1});
      const TensorDesc out = t.Tensor(dtype, {3, 41, 5});
      calls.push_back({"aten::cumsum", {{self}, Int(dim), None()}, {{out}}});
      calls.push_back({"aten::cumsum_", {{out}, Int(dim), None()}, {{out}}});
    }
    samples::SampleTensors t;
    const TensorDesc self = t.Tensor(dtype, {4, 6});
    calls.push_back({"aten::cumprod", {{self}, Int(1), None()}, {{t.Tensor(dtype, {4, 6})}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeScan() {
  return MakeParsedKernel({"scan", "scan.cl", ScanSamples},
                          CallForm<ScanCall>{ParseScan, ReferenceScan, LowerScan});
}

}  // namespace reprise
