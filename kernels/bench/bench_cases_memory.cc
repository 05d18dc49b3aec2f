// The cases of bench_cases.h in which most of the time goes into moving bytes.
#include "kernels/bench/bench_cases.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::Ints, samples::None,
    samples::SampleTensors, samples::Tensors;
using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kWidth = 768;

std::int64_t Tokens(const CaseList& c) { return 2048 * c.scale; }

// The narrow types' statistics are float32.
DType Statistics(const CaseList& c) {
  return c.dtype == DType::kFloat64 ? c.dtype : DType::kFloat32;
}

Value All() { return Value{ValueList{Bool(true), Bool(true), Bool(true)}}; }

void AddLayerNorm(CaseList& c) {
  const std::int64_t tokens = Tokens(c);
  SampleTensors s;
  const auto t = [&](const Dims& shape) { return Value{s.Tensor(c.dtype, shape)}; };
  const Dims shape = {tokens, kWidth};
  const Value x = t(shape), y = t(shape), g = t(shape), w = t({kWidth}), b = t({kWidth});
  const Value mean{s.Tensor(Statistics(c), {tokens, 1})};
  const Value rstd{s.Tensor(Statistics(c), {tokens, 1})};
  c.Add("layer_norm",
        {"aten::native_layer_norm", {x, Ints({kWidth}), w, b, Double(1e-5)}, {y, mean, rstd}});
  c.Add("layer_norm backward", {"aten::native_layer_norm_backward",
                                {g, x, Ints({kWidth}), mean, rstd, w, b, All()},
                                {y, t({kWidth}), t({kWidth})}});
}

void AddBatchNorm(CaseList& c) {
  SampleTensors s;
  constexpr std::int64_t kChannels = 64;
  const auto image = [&] { return Value{s.Tensor(c.dtype, {8 * c.scale, kChannels, 56, 56})}; };
  const auto channel = [&] { return Value{s.Tensor(Statistics(c), {kChannels})}; };
  const Value x = image(), y = image(), g = image();
  const Value w = channel(), b = channel(), running_mean = channel(), running_var = channel();
  const Value mean = channel(), rstd = channel();
  c.Add("batch_norm", {"aten::native_batch_norm",
                       {x, w, b, running_mean, running_var, Bool(true), Double(0.1), Double(1e-5)},
                       {y, mean, rstd}});
  c.Add("batch_norm backward",
        {"aten::native_batch_norm_backward",
         {g, x, w, running_mean, running_var, mean, rstd, Bool(true), Double(1e-5), All()},
         {y, channel(), channel()}});
}

void AddSoftmax(CaseList& c) {
  const auto add = [&](const std::string& title, const std::string& name, const Dims& shape) {
    SampleTensors s;
    const auto t = [&] { return Value{s.Tensor(c.dtype, shape)}; };
    const Value x = t(), y = t(), g = t();
    c.Add(title, {"aten::_" + name, {x, Int(-1), Bool(false)}, {y}});
    c.Add(title + " backward",
          {"aten::_" + name + "_backward_data", {g, y, Int(-1), Int(6)}, {t()}});
  };
  add("softmax", "softmax", {c.scale, 12, 512, 512});
  add("log_softmax", "log_softmax", {64 * c.scale, 50257});
}

void AddElementwise(CaseList& c) {
  const std::int64_t tokens = Tokens(c);
  SampleTensors s;
  const auto t = [&] { return Value{s.Tensor(c.dtype, {tokens, kWidth})}; };
  const Value a = t(), b = t(), out = t(), mask{s.Tensor(DType::kBool, {tokens, kWidth})};
  const Value row{s.Tensor(c.dtype, {kWidth})};
  c.Add("add", {"aten::add", {a, b, Int(1)}, {out}});
  c.Add("add row", {"aten::add", {a, row, Int(1)}, {out}});
  c.Add("relu", {"aten::relu", {a}, {out}});
  c.Add("gelu", {"aten::gelu", {a, samples::Text("none")}, {out}});
  c.Add("gelu backward", {"aten::gelu_backward", {a, b, samples::Text("none")}, {out}});
  c.Add("dropout", {"aten::native_dropout", {a, Double(0.1), Bool(true)}, {out, mask}});
}

void AddRandom(CaseList& c) {
  const std::int64_t tokens = Tokens(c);
  SampleTensors s;
  const Value out{s.Tensor(c.dtype, {tokens, kWidth})};
  const Value ids{s.Tensor(DType::kInt64, {tokens, kWidth})};
  c.Add("normal", {"aten::normal_", {out, Double(0), Double(1), None()}, {out}});
  c.Add("uniform", {"aten::uniform_", {out, Double(-1), Double(1), None()}, {out}});
  c.Add("bernoulli", {"aten::bernoulli_", {out, Double(0.1), None()}, {out}});
  c.Add("random integers", {"aten::random_", {ids, Int(0), Int(50257), None()}, {ids}});
}

void AddReductions(CaseList& c) {
  const std::int64_t tokens = Tokens(c);
  SampleTensors s;
  const Value x{s.Tensor(c.dtype, {tokens, kWidth})};
  const auto out = [&](const Dims& shape) { return Value{s.Tensor(c.dtype, shape)}; };
  c.Add("sum all", {"aten::sum", {x, None()}, {out({})}});
  c.Add("sum columns",
        {"aten::sum", {x, Ints({0}), Bool(true), None()}, {out({1, kWidth})}});  // a bias' gradient
  c.Add("mean rows", {"aten::mean", {x, Ints({-1}), Bool(true), None()}, {out({tokens, 1})}});
}

// The parameters of transformer layers of width 512.
void AddOptimizers(CaseList& c) {
  SampleTensors s;
  const auto list = [&] {
    std::vector<TensorDesc> tensors;
    for (std::int64_t layer = 0; layer < c.scale; ++layer) {
      for (const Dims& shape : {Dims{1536, 512}, Dims{1536}, Dims{512, 512}, Dims{512},
                                Dims{2048, 512}, Dims{2048}, Dims{512, 2048}, Dims{512}}) {
        tensors.push_back(s.Tensor(c.dtype, shape));
      }
    }
    return tensors;
  };
  const auto numbers = [&](DType dtype) {
    std::vector<TensorDesc> tensors;
    for (std::int64_t i = 0; i < 8 * c.scale; ++i) {
      tensors.push_back(s.Tensor(dtype, {}));
    }
    return Tensors(tensors);
  };
  const Value params = Tensors(list()), grads = Tensors(list());
  const Value means = Tensors(list()), squares = Tensors(list());
  c.Add("fused adamw", {"aten::_fused_adamw_",
                        {params, grads, means, squares, Value{ValueList{}},
                         numbers(DType::kFloat32), Double(1e-3), Double(0.9), Double(0.999),
                         Double(0.01), Double(1e-8), Bool(false), Bool(false), None(), None()},
                        {}});
  c.Add("foreach add", {"aten::_foreach_add_", {params, grads, Double(-1e-3)}, {}});
  c.Add("foreach mul", {"aten::_foreach_mul_", {params, Double(1)}, {}});
  c.Add("foreach addcdiv",
        {"aten::_foreach_addcdiv_", {params, means, squares, Double(-1e-6)}, {}});
  c.Add("foreach norm", {"aten::_foreach_norm", {grads, Int(2), None()}, {numbers(c.dtype)}});
}

void AddEmbedding(CaseList& c) {
  const std::int64_t tokens = Tokens(c);
  SampleTensors s;
  constexpr std::int64_t kRows = 32000;
  const Value table{s.Tensor(c.dtype, {kRows, kWidth})};
  const Value ids{s.Tensor(DType::kInt64, {4, tokens / 4})};
  const Value rows{s.Tensor(c.dtype, {4, tokens / 4, kWidth})};
  c.Add("embedding", {"aten::embedding", {table, ids, Int(-1), Bool(false), Bool(false)}, {rows}});
  c.Add("embedding backward",
        {"aten::embedding_dense_backward", {rows, ids, Int(kRows), Int(-1), Bool(false)}, {table}});
}

void AddIndexing(CaseList& c) {
  const std::int64_t tokens = Tokens(c);
  SampleTensors s;
  const Value x{s.Tensor(c.dtype, {tokens, kWidth})};
  const Value rows{s.Tensor(c.dtype, {tokens / 2, kWidth})};
  const TensorDesc ids = s.Tensor(DType::kInt64, {tokens / 2});
  const Value picks{s.Tensor(DType::kInt64, {tokens, kWidth / 4})};
  const Value picked{s.Tensor(c.dtype, {tokens, kWidth / 4})};
  c.Add("index rows", {"aten::index", {x, Tensors({ids})}, {rows}});
  c.Add("index_select", {"aten::index_select", {x, Int(0), Value{ids}}, {rows}});
  c.Add("gather", {"aten::gather", {x, Int(1), picks}, {picked}});
  c.Add("index_put", {"aten::index_put_", {x, Tensors({ids}), rows, Bool(true)}, {x}});
  c.Add("scatter_add", {"aten::scatter_add_", {x, Int(1), picks, picked}, {x}});
}

void AddCopies(CaseList& c) {
  const std::int64_t tokens = Tokens(c);
  SampleTensors s;
  const Value flat{s.Tensor(c.dtype, {tokens, kWidth})};
  const Value same{s.Tensor(c.dtype, {tokens, kWidth})};
  const Value wide{s.Tensor(c.dtype, {tokens, 3 * kWidth})};
  const TensorDesc& part = *flat.AsTensor();
  // Attention's (batch, heads, tokens, width) out of (batch, tokens, heads, width).
  const std::int64_t batch = 4 * c.scale;
  const Value heads{s.Tensor(c.dtype, {batch, 12, 512, 64})};
  const Value across{s.Strided(c.dtype, {batch, 12, 512, 64}, {512 * kWidth, 64, kWidth, 1})};
  const DType other = c.dtype == DType::kFloat32 ? DType::kBFloat16 : DType::kFloat32;
  const Value narrow{s.Tensor(other, {tokens, kWidth})};
  c.Add("copy", {"aten::copy_", {same, flat, Bool(false)}, {same}});
  c.Add("copy heads", {"aten::copy_", {heads, across, Bool(false)}, {heads}});
  c.Add("copy to " + std::string(Name(other)),
        {"aten::copy_", {narrow, flat, Bool(false)}, {narrow}});
  c.Add("cat", {"aten::cat", {Tensors({part, *same.AsTensor(), part}), Int(1)}, {wide}});
}

void AddSorting(CaseList& c) {
  SampleTensors s;
  const Dims shape = {64 * c.scale, 4096};
  const Dims few = {64 * c.scale, 50};
  const Value x{s.Tensor(c.dtype, shape)};
  c.Add("sort", {"aten::sort",
                 {x, Int(-1), Bool(false)},
                 {Value{s.Tensor(c.dtype, shape)}, Value{s.Tensor(DType::kInt64, shape)}}});
  c.Add("topk", {"aten::topk",
                 {x, Int(50), Int(-1), Bool(true), Bool(true)},
                 {Value{s.Tensor(c.dtype, few)}, Value{s.Tensor(DType::kInt64, few)}}});
}

// ResNet's first pooling, and a UNet's way down.
void AddPooling(CaseList& c) {
  SampleTensors s;
  const auto image = [&](std::int64_t size) {
    return Value{s.Tensor(c.dtype, {4 * c.scale, 64, size, size})};
  };
  const auto both = [](std::int64_t n) { return Ints({n, n}); };
  const Value in = image(112), out = image(56);
  const Value at{s.Tensor(DType::kInt64, {4 * c.scale, 64, 56, 56})};
  const Value no = Bool(false);
  c.Add("max pool",
        {"aten::max_pool2d_with_indices", {in, both(3), both(2), both(1), both(1), no}, {out, at}});
  c.Add("max pool backward", {"aten::max_pool2d_with_indices_backward",
                              {out, in, both(3), both(2), both(1), both(1), no, at},
                              {image(112)}});
  c.Add("average pool",
        {"aten::avg_pool2d", {in, both(2), both(2), both(0), no, Bool(true), None()}, {out}});
  c.Add("average pool backward", {"aten::avg_pool2d_backward",
                                  {out, in, both(2), both(2), both(0), no, Bool(true), None()},
                                  {image(112)}});
}

}  // namespace

void AddMemoryBoundCases(CaseList& c) {
  for (const auto add :
       {AddLayerNorm, AddBatchNorm, AddSoftmax, AddElementwise, AddRandom, AddReductions,
        AddOptimizers, AddEmbedding, AddIndexing, AddCopies, AddSorting, AddPooling}) {
    add(c);
  }
}

}  // namespace reprise
