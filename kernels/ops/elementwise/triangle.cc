// Triangles of matrices: kernels/ops/elementwise/triangle.cl.
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct TriangleCall {
  const TensorDesc* self = nullptr;
  const TensorDesc* out = nullptr;
  std::int64_t batch = 0, m = 0, n = 0;
  std::int64_t diagonal = 0;
  bool upper = false;

  // Element (i, j) stays.
  [[nodiscard]] bool Keeps(std::int64_t i, std::int64_t j) const {
    return upper ? j - i >= diagonal : j - i <= diagonal;
  }
};

// tril(self, diagonal=0); in place the result is self.
std::optional<TriangleCall> ParseTriangle(const OpCall& call) {
  TriangleCall p;
  p.self = call.InputTensor(0);
  p.out = call.OutputTensor(0) != nullptr ? call.OutputTensor(0) : p.self;
  if (p.self == nullptr || Rank(*p.self) < 2 || p.out->shape != p.self->shape ||
      p.out->dtype != p.self->dtype || !IsKernelType(p.self->dtype)) {
    return std::nullopt;
  }
  p.m = ExtentOf(*p.self, Rank(*p.self) - 2);
  p.n = ExtentOf(*p.self, Rank(*p.self) - 1);
  p.batch = p.m * p.n == 0 ? 0 : Count(*p.self) / (p.m * p.n);
  p.diagonal = call.Argument(1).AsNumber<std::int64_t>(0);
  p.upper = call.name.starts_with("aten::triu");
  return p;
}

Status ReferenceTriangle(const TriangleCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(Bits values, ReadBits(*p.self, memory));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    if (!p.Keeps(at / p.n % p.m, at % p.n)) {
      values[k] = 0;
    }
  }
  return WriteBits(*p.out, memory, values);
}

void LowerTriangle(const TriangleCall& p, RowLowering& rows) {
  rows.UseBits(p.self->dtype, DType::kInt64);
  rows.LaunchItems("triangle", p.batch * p.m, rows.Read(*p.self), rows.Write(*p.out), p.batch, p.m,
                   p.n, p.diagonal, p.upper);
}

std::vector<OpCall> TriangleSamples() {
  using samples::Int;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kBool}) {
    samples::SampleTensors t;
    const TensorDesc self = t.Strided(dtype, {3, 7, 5}, {35, 1, 7}, 2);
    const TensorDesc out = t.Tensor(dtype, {3, 7, 5});
    for (const std::int64_t diagonal : {0, 2, -3, 9, -9}) {
      calls.push_back({"aten::tril", {{self}, Int(diagonal)}, {{out}}});
      calls.push_back({"aten::triu", {{self}, Int(diagonal)}, {{out}}});
    }
    calls.push_back({"aten::tril_", {{self}, Int(-1)}, {{self}}});
    calls.push_back({"aten::triu_", {{out}, Int(1)}, {{out}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeTriangle() {
  return MakeParsedKernel({"triangle", "triangle.cl", TriangleSamples},
                          CallForm<TriangleCall>{ParseTriangle, ReferenceTriangle, LowerTriangle});
}

}  // namespace reprise
