#include "kernels/bench/bench_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::Ints, samples::None,
    samples::SampleTensors;
using Dims = std::vector<std::int64_t>;

constexpr int kManyCores = 16;
constexpr int kManyUnits = 64;  // of a GPU

// (m, k) times (k, n); a linear layer's weight is stored as (n, k), its input's gradient as is,
// and the weight's gradient takes the transposed left.
void AddProduct(CaseList& c, const char* title, std::int64_t m, std::int64_t n, std::int64_t k,
                bool a_across, bool b_across) {
  SampleTensors s;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool across) {
    return Value{across ? s.Strided(c.dtype, {rows, columns}, {1, rows})
                        : s.Tensor(c.dtype, {rows, columns})};
  };
  const Value a = matrix(m, k, a_across);
  const Value b = matrix(k, n, b_across);
  c.Add(title, {"aten::mm", {a, b}, {matrix(m, n, false)}});
}

void AddLinearWithBias(CaseList& c, std::int64_t tokens, std::int64_t in, std::int64_t out) {
  SampleTensors s;
  const Value bias{s.Tensor(c.dtype, {out})};
  const Value x{s.Tensor(c.dtype, {tokens, in})};
  const Value w{s.Strided(c.dtype, {in, out}, {1, in})};
  c.Add("linear, bias",
        {"aten::addmm", {bias, x, w, Int(1), Int(1)}, {Value{s.Tensor(c.dtype, {tokens, out})}}});
}

void AddBatched(CaseList& c, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  SampleTensors s;
  const Value a{s.Tensor(c.dtype, {batch, m, k})};
  const Value b{s.Tensor(c.dtype, {batch, k, n})};
  c.Add("bmm", {"aten::bmm", {a, b}, {Value{s.Tensor(c.dtype, {batch, m, n})}}});
}

void AddAttention(CaseList& c, const Dims& shape, bool causal) {
  SampleTensors s;
  const auto t = [&] { return Value{s.Tensor(c.dtype, shape)}; };
  const Value q = t(), k = t(), v = t(), out = t(), grad = t();
  const Value lse{s.Tensor(DType::kFloat32, {shape[0], shape[1], shape[2]})};
  const std::string name = "aten::_scaled_dot_product_flash_attention_for_cpu";
  const std::string kind = causal ? "causal attention" : "attention";
  c.Add(kind, {name, {q, k, v, Double(0), Bool(causal), None(), None()}, {out, lse}});
  c.Add(kind + " backward", {name + "_backward",
                             {grad, q, k, v, out, lse, Double(0), Bool(causal), None(), None()},
                             {t(), t(), t()}});
}

struct Conv {
  std::int64_t images, in, out, size, kernel, stride;
};
void AddConvolution(CaseList& c, const Conv& conv) {
  SampleTensors s;
  const std::int64_t out_size = (conv.size - 1) / conv.stride + 1;
  const std::int64_t padding = conv.kernel / 2;
  const auto x = [&] {
    return Value{s.Tensor(c.dtype, {conv.images, conv.in, conv.size, conv.size})};
  };
  const auto y = [&] {
    return Value{s.Tensor(c.dtype, {conv.images, conv.out, out_size, out_size})};
  };
  const auto w = [&] {
    return Value{s.Tensor(c.dtype, {conv.out, conv.in, conv.kernel, conv.kernel})};
  };
  const auto both = [](std::int64_t n) { return Ints({n, n}); };
  c.Add("convolution", {"aten::mkldnn_convolution",
                        {x(), w(), None(), both(padding), both(conv.stride), both(1), Int(1)},
                        {y()}});
  c.Add("convolution backward",
        {"aten::convolution_backward",
         {y(), x(), w(), Ints({0}), both(conv.stride), both(padding), both(1), Bool(false), both(0),
          Int(1), Value{ValueList{Bool(true), Bool(true), Bool(false)}}},
         {x(), w(), None()}});
}

// A UNet's way up: twice the size, half the channels.
void AddTransposedConvolution(CaseList& c, std::int64_t images, std::int64_t in,
                              std::int64_t size) {
  SampleTensors s;
  const auto x = [&] { return Value{s.Tensor(c.dtype, {images, in, size, size})}; };
  const auto y = [&] { return Value{s.Tensor(c.dtype, {images, in / 2, 2 * size, 2 * size})}; };
  const auto w = [&] { return Value{s.Tensor(c.dtype, {in, in / 2, 2, 2})}; };
  const auto both = [](std::int64_t n) { return Ints({n, n}); };
  const Value yes = Bool(true), no = Bool(false);
  c.Add("transposed convolution",
        {"aten::_convolution",
         {x(), w(), None(), both(2), both(0), both(1), yes, both(0), Int(1), no, no, yes, yes},
         {y()}});
  c.Add("transposed convolution backward", {"aten::convolution_backward",
                                            {y(), x(), w(), Ints({0}), both(2), both(0), both(1),
                                             yes, both(0), Int(1), Value{ValueList{yes, yes, no}}},
                                            {x(), w(), None()}});
}

void AddProducts(CaseList& c) {
  for (const std::int64_t size : {1024, 2048, 4096}) {
    AddProduct(c, "mm", size, size, size, false, false);
  }
  if (c.scale > 1) {
    AddProduct(c, "mm", 8192, 8192, 8192, false, false);
  }
  // GPT-2 small: attention's projection to q, k and v, and the wide layer of its MLP.
  const std::int64_t tokens = 512 * c.scale;
  AddProduct(c, "linear", tokens, 2304, 768, false, true);
  AddProduct(c, "linear", tokens, 3072, 768, false, true);
  AddLinearWithBias(c, tokens, 3072, 768);
  AddProduct(c, "linear, dx", tokens, 768, 3072, false, false);
  AddProduct(c, "linear, dw", 3072, 768, tokens, true, false);
  AddBatched(c, 12 * c.scale, 512, 512, 64);
  AddBatched(c, 12 * c.scale, 512, 64, 512);
}

std::string DescribeOne(const TensorDesc& tensor) {
  const std::size_t rank = tensor.shape.size();
  const bool across = rank >= 2 && tensor.strides[rank - 2] == 1 && tensor.strides[rank - 1] > 1;
  return fmt::format("{}{}", rank == 0 ? "1" : fmt::format("{}", fmt::join(tensor.shape, "x")),
                     across ? "'" : "");
}

}  // namespace

int KernelBenchScale(const DeviceInfo& device) {
  if (device.is_cpu) {
    return device.compute_units > kManyCores ? 8 : 1;
  }
  return device.compute_units < kManyUnits ? 8 : 64;
}

std::vector<KernelBenchCase> KernelBenchCases(DType dtype, int scale) {
  std::vector<KernelBenchCase> cases;
  CaseList c{dtype, scale, cases};
  AddProducts(c);
  AddAttention(c, {c.scale, 12, 512, 64}, true);
  AddAttention(c, {c.scale, 8, 1024, 64}, false);
  AddAttention(c, {4 * c.scale, 8, 64, 32}, true);  // a small model: many short heads
  // ResNet-50: the stem, a 3x3 and a 1x1 of the first stage, a 3x3 of the last.
  const std::int64_t images = 4 * c.scale;
  AddConvolution(c, {images, 3, 64, 224, 7, 2});
  AddConvolution(c, {images, 64, 64, 56, 3, 1});
  AddConvolution(c, {images, 64, 256, 56, 1, 1});
  AddConvolution(c, {images, 512, 512, 7, 3, 1});
  AddTransposedConvolution(c, images, 128, 28);
  AddMemoryBoundCases(c);
  return cases;
}

std::string DescribeShapes(const OpCall& call) {
  constexpr int kMax = 3;
  std::vector<std::pair<std::string, int>> runs;
  for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
    const std::string shape = DescribeOne(*tensor);
    if (!runs.empty() && runs.back().first == shape) {
      ++runs.back().second;
    } else {
      runs.emplace_back(shape, 1);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < runs.size() && i < kMax; ++i) {
    const auto& [shape, count] = runs[i];
    text += (i > 0 ? ", " : "") + (count > 1 ? fmt::format("{}*[{}]", count, shape) : shape);
  }
  return runs.size() <= kMax ? text
                             : fmt::format("{}, ... ({})", text, TensorsIn(call.inputs).size());
}

}  // namespace reprise
