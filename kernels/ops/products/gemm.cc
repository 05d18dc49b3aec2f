// Matrix products: aten::mm, addmm, bmm, baddbmm, _grouped_mm, mv, addmv, dot.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_convert.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/products/gemm_host.h"
#include "kernels/ops/products/gemm_launch.h"
#include "kernels/ops/products/gemm_product.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// A batch of matrices as a tensor.
TensorDesc AsTensor(const MatrixView& v, std::int64_t batch, std::int64_t rows,
                    std::int64_t columns) {
  return ViewOf(*v.tensor, {batch, rows, columns}, {v.batch, v.row, v.column}, v.tensor->offset);
}

// In double, or in 64-bit integers that wrap.
Status MultiplyExactly(const Product& p, const HostBindings& memory) {
  return InKindOf(p.d.tensor->dtype, [&](auto* read, auto* write) -> Status {
    REPRISE_ASSIGN(const auto a, read(AsTensor(p.a, p.batch, p.m, p.k), memory));
    REPRISE_ASSIGN(const auto b, read(AsTensor(p.b, p.batch, p.k, p.n), memory));
    const TensorDesc result = AsTensor(p.d, p.batch, p.m, p.n);
    auto d = std::remove_const_t<decltype(a)>(static_cast<std::size_t>(Count(result)));
    const bool add = p.c.tensor != nullptr && p.beta != 0;
    if (add) {
      REPRISE_ASSIGN(d, read(AsTensor(p.c, p.batch, p.m, p.n), memory));
    }
    using Element = typename decltype(d)::value_type;
    using T = std::conditional_t<std::is_integral_v<Element>, std::uint64_t, Element>;
    const auto size = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::vector<T> row(size(p.n));
    for (std::int64_t i = 0; i < p.batch * p.m; ++i) {
      std::fill(row.begin(), row.end(), T{0});
      for (std::int64_t l = 0; l < p.k; ++l) {
        const auto left = static_cast<T>(a[size(i * p.k + l)]);
        for (std::int64_t j = 0; j < p.n; ++j) {
          row[size(j)] += left * static_cast<T>(b[size((i / p.m * p.k + l) * p.n + j)]);
        }
      }
      for (std::int64_t j = 0; j < p.n; ++j) {
        Element& to = d[size(i * p.n + j)];
        const T addend = add ? static_cast<T>(p.beta) * static_cast<T>(to) : 0;
        to = static_cast<Element>(static_cast<T>(p.alpha) * row[size(j)] + addend);
      }
    }
    return write(result, memory, d);
  });
}

// Matrix z of the batch.
Status MultiplyOnHost(const Product& p, const HostBindings& memory, std::int64_t z) {
  REPRISE_ASSIGN(const HostTensor a, HostTensor::Bind(*p.a.tensor, memory));
  REPRISE_ASSIGN(const HostTensor b, HostTensor::Bind(*p.b.tensor, memory));
  REPRISE_ASSIGN(const HostTensor d, HostTensor::Bind(*p.d.tensor, memory));
  const bool add = p.c.tensor != nullptr && p.beta != 0;
  if (add) {  // as the product's starting value
    REPRISE_ASSIGN(const HostTensor c, HostTensor::Bind(*p.c.tensor, memory));
    std::vector<float> row(static_cast<std::size_t>(p.n));
    for (std::int64_t i = 0; i < p.m; ++i) {
      if (i == 0 || p.c.row != 0) {  // else a bias: every row is the same
        LoadRun(c.data(), c.dtype(), p.c.At(z, i, 0), p.c.column, row.data(), p.n);
      }
      StoreRun(row.data(), p.n, d.data(), d.dtype(), p.d.At(z, i, 0), p.d.column);
    }
  }
  const auto matrix = [z](const HostTensor& t, const MatrixView& v) {
    return HostMatrix{t.data(), t.dtype(), v.At(z, 0, 0), v.row, v.column};
  };
  return HostGemm(p.m, p.n, p.k, static_cast<float>(p.alpha), matrix(a, p.a), matrix(b, p.b),
                  add ? static_cast<float>(p.beta) : 0.0F, matrix(d, p.d), memory.blas());
}

Status RunProduct(const Product& p, const HostBindings& memory) {
  if (!IsFloating(p.d.tensor->dtype) || p.d.tensor->dtype == DType::kFloat64) {
    return MultiplyExactly(p, memory);
  }
  const auto run = [&](std::int64_t begin, std::int64_t end) -> Status {
    for (std::int64_t z = begin; z < end; ++z) {
      REPRISE_TRY(MultiplyOnHost(p, memory, z));
    }
    return {};
  };
  const double flops =
      2 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  constexpr double kFlopsOfByte = 16;  // roughly, of what a core does in the same time
  return flops >= kParallelGemmFlops
             ? run(0, p.batch)  // each on all cores
             : TryParallelFor(p.batch, GrainSize(flops / kFlopsOfByte), run);
}

void LowerProduct(const Product& p, RowLowering& rows) {
  const auto operand = [&](const MatrixView& view) {
    return GemmOperand{rows.BufferFor(*view.tensor),
                       view.tensor->dtype,
                       view.tensor->offset,
                       {view.batch, 0},
                       {view.row, 0, 0},
                       {view.column, 0, 0}};
  };
  GemmProblem problem{.m = p.m,
                      .n = p.n,
                      .k = p.k,
                      .batch = {p.batch, 1},
                      .a = operand(p.a),
                      .b = operand(p.b),
                      .d = operand(p.d),
                      .alpha = p.alpha};
  if (p.c.tensor != nullptr && p.beta != 0) {
    problem.beta = p.beta;
    problem.c = operand(p.c);
  }
  rows.Append(LowerGemm(problem, rows.context(), 0));
}

std::vector<OpCall> ProductSamples() {
  using samples::Double, samples::Int, samples::None, samples::SampleTensors;
  std::vector<OpCall> calls;
  const auto add = [&](std::string name, ValueList inputs, const TensorDesc& output) {
    calls.push_back({std::move(name), std::move(inputs), {Value{output}}});
  };
  const auto mm = [&](DType t, std::int64_t m, std::int64_t n, std::int64_t k) {
    SampleTensors s;
    add("aten::mm", {Value{s.Tensor(t, {m, k})}, Value{s.Tensor(t, {k, n})}}, s.Tensor(t, {m, n}));
  };
  for (const DType t : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16,
                        DType::kInt64, DType::kInt32, DType::kUInt8}) {
    mm(t, 37, 45, 29);
  }
  for (const DType t : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    mm(t, 5, 300, 531);  // several blocks of n and k
  }
  mm(DType::kFloat32, 100, 64, 128);
  mm(DType::kFloat32, 3, 4, 0);  // zeros
  mm(DType::kFloat32, 0, 4, 3);
  const auto f = DType::kFloat32;
  {  // what nn.Linear records: bias, transposed weight
    SampleTensors s;
    add("aten::addmm",
        {Value{s.Tensor(f, {50})}, Value{s.Tensor(f, {40, 33})},
         Value{s.Strided(f, {33, 50}, {1, 33})}, Int(1), Int(1)},
        s.Tensor(f, {40, 50}));
  }
  {  // both transposed, padded rows, offsets, scaled, result by columns
    SampleTensors s;
    add("aten::addmm",
        {Value{s.Tensor(f, {21, 1})}, Value{s.Strided(f, {21, 34}, {1, 25}, 3)},
         Value{s.Strided(f, {34, 47}, {1, 40}, 5)}, Double(0.5), Double(-2)},
        s.Strided(f, {21, 47}, {1, 23}, 2));
    TensorDesc self = s.Strided(f, {20, 20}, {40, 2}, 1);
    add("aten::addmm_",
        {Value{self}, Value{s.Strided(f, {20, 18}, {50, 2})},
         Value{s.Strided(f, {18, 20}, {3, 60})}, Int(1), Int(1)},
        self);
  }
  for (const DType t : {f, DType::kBFloat16, DType::kInt32}) {
    SampleTensors s;
    add("aten::bmm",
        {Value{s.Tensor(t, {3, 17, 20})}, Value{s.Strided(t, {3, 20, 35}, {35, 105, 1})}},
        s.Tensor(t, {3, 17, 35}));
    TensorDesc self = s.Tensor(t, {3, 17, 35});
    for (const std::string name : {"aten::baddbmm", "aten::baddbmm_"}) {
      add(name,
          {Value{self}, Value{s.Tensor(t, {3, 17, 20})}, Value{s.Tensor(t, {3, 20, 35})}, Int(2),
           Int(3)},
          name.back() == '_' ? self : s.Tensor(t, {3, 17, 35}));
    }
    add("aten::mv", {Value{s.Tensor(t, {19, 40})}, Value{s.Strided(t, {40}, {3})}},
        s.Tensor(t, {19}));
    TensorDesc sum = s.Tensor(t, {19});
    for (const std::string name : {"aten::addmv", "aten::addmv_"}) {
      add(name,
          {Value{sum}, Value{s.Tensor(t, {19, 40})}, Value{s.Tensor(t, {40})}, Int(1), Int(1)},
          name.back() == '_' ? sum : s.Tensor(t, {19}));
    }
    for (const std::string name : {"aten::dot", "aten::vdot"}) {
      add(name, {Value{s.Tensor(t, {77})}, Value{s.Strided(t, {77}, {2}, 1)}}, s.Tensor(t, {}));
    }
  }
  {  // experts: rows in three groups by their matrices, and the matrices' gradients
    SampleTensors s;
    const Value ends = {s.Tensor(DType::kInt32, {3})};
    add("aten::_grouped_mm",
        {Value{s.Tensor(f, {21, 10})}, Value{s.Strided(f, {3, 10, 8}, {80, 1, 10})}, ends, None(),
         None()},
        s.Tensor(f, {21, 8}));
    add("aten::_grouped_mm",
        {Value{s.Strided(f, {8, 21}, {1, 8})}, Value{s.Tensor(f, {21, 10})}, ends, None(), None()},
        s.Tensor(f, {3, 8, 10}));
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeGemm() {
  return MakeParsedKernel(
      {.name = "gemm", .samples = ProductSamples, .tolerance = {1e-4, 1e-4}},
      CallForm<Product>{ParseProduct, MultiplyExactly, LowerProduct, RunProduct});
}

}  // namespace reprise
