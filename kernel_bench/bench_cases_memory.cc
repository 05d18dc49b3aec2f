// The cases of bench_cases.h in which most of the time goes into moving bytes.
#include "kernel_bench/bench_cases.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::Ints, samples::None;
using samples::SampleTensors, samples::Tensors;
using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kWidth = 768;

class MemoryCases {
 public:
  MemoryCases(DType dtype, int scale, std::vector<KernelBenchCase>& cases)
      : dtype_(dtype), scale_(scale), tokens_(std::int64_t{2048} * scale), cases_(cases) {}

  void AddLayerNorm();
  void AddBatchNorm();
  void AddSoftmax();
  void AddElementwise();
  void AddRandom();
  void AddReductions();
  void AddOptimizers();
  void AddEmbedding();
  void AddIndexing();
  void AddCopies();
  void AddSorting();
  void AddPooling();

 private:
  void Add(std::string title, OpCall call) {
    cases_.push_back({std::move(title), dtype_, std::move(call)});
  }
  // The narrow types' statistics are float32.
  [[nodiscard]] DType Statistics() const {
    return dtype_ == DType::kFloat64 ? dtype_ : DType::kFloat32;
  }

  DType dtype_;
  std::int64_t scale_;
  std::int64_t tokens_;
  std::vector<KernelBenchCase>& cases_;
};

Value All() { return Value{ValueList{Bool(true), Bool(true), Bool(true)}}; }

void MemoryCases::AddLayerNorm() {
  SampleTensors s;
  const auto t = [&](const Dims& shape) { return Value{s.Tensor(dtype_, shape)}; };
  const Dims shape = {tokens_, kWidth};
  const Value x = t(shape), y = t(shape), g = t(shape), w = t({kWidth}), b = t({kWidth});
  const Value mean{s.Tensor(Statistics(), {tokens_, 1})};
  const Value rstd{s.Tensor(Statistics(), {tokens_, 1})};
  Add("layer_norm",
      {"aten::native_layer_norm", {x, Ints({kWidth}), w, b, Double(1e-5)}, {y, mean, rstd}});
  Add("layer_norm backward", {"aten::native_layer_norm_backward",
                              {g, x, Ints({kWidth}), mean, rstd, w, b, All()},
                              {y, t({kWidth}), t({kWidth})}});
}

void MemoryCases::AddBatchNorm() {
  SampleTensors s;
  constexpr std::int64_t kChannels = 64;
  const auto image = [&] { return Value{s.Tensor(dtype_, {8 * scale_, kChannels, 56, 56})}; };
  const auto channel = [&] { return Value{s.Tensor(Statistics(), {kChannels})}; };
  const Value x = image(), y = image(), g = image();
  const Value w = channel(), b = channel(), running_mean = channel(), running_var = channel();
  const Value mean = channel(), rstd = channel();
  Add("batch_norm", {"aten::native_batch_norm",
                     {x, w, b, running_mean, running_var, Bool(true), Double(0.1), Double(1e-5)},
                     {y, mean, rstd}});
  Add("batch_norm backward",
      {"aten::native_batch_norm_backward",
       {g, x, w, running_mean, running_var, mean, rstd, Bool(true), Double(1e-5), All()},
       {y, channel(), channel()}});
}

void MemoryCases::AddSoftmax() {
  const auto add = [&](const std::string& title, const std::string& name, const Dims& shape) {
    SampleTensors s;
    const auto t = [&] { return Value{s.Tensor(dtype_, shape)}; };
    const Value x = t(), y = t(), g = t();
    Add(title, {"aten::_" + name, {x, Int(-1), Bool(false)}, {y}});
    Add(title + " backward", {"aten::_" + name + "_backward_data", {g, y, Int(-1), Int(6)}, {t()}});
  };
  add("softmax", "softmax", {scale_, 12, 512, 512});
  add("log_softmax", "log_softmax", {64 * scale_, 50257});
}

void MemoryCases::AddElementwise() {
  SampleTensors s;
  const auto t = [&] { return Value{s.Tensor(dtype_, {tokens_, kWidth})}; };
  const Value a = t(), b = t(), out = t(), mask{s.Tensor(DType::kBool, {tokens_, kWidth})};
  const Value row{s.Tensor(dtype_, {kWidth})};
  Add("add", {"aten::add", {a, b, Int(1)}, {out}});
  Add("add row", {"aten::add", {a, row, Int(1)}, {out}});
  Add("relu", {"aten::relu", {a}, {out}});
  Add("gelu", {"aten::gelu", {a, samples::Text("none")}, {out}});
  Add("gelu backward", {"aten::gelu_backward", {a, b, samples::Text("none")}, {out}});
  Add("dropout", {"aten::native_dropout", {a, Double(0.1), Bool(true)}, {out, mask}});
}

void MemoryCases::AddRandom() {
  SampleTensors s;
  const Value out{s.Tensor(dtype_, {tokens_, kWidth})};
  const Value ids{s.Tensor(DType::kInt64, {tokens_, kWidth})};
  Add("normal", {"aten::normal_", {out, Double(0), Double(1), None()}, {out}});
  Add("uniform", {"aten::uniform_", {out, Double(-1), Double(1), None()}, {out}});
  Add("bernoulli", {"aten::bernoulli_", {out, Double(0.1), None()}, {out}});
  Add("random integers", {"aten::random_", {ids, Int(0), Int(50257), None()}, {ids}});
}

void MemoryCases::AddReductions() {
  SampleTensors s;
  const Value x{s.Tensor(dtype_, {tokens_, kWidth})};
  const auto out = [&](const Dims& shape) { return Value{s.Tensor(dtype_, shape)}; };
  Add("sum all", {"aten::sum", {x, None()}, {out({})}});
  Add("sum columns",
      {"aten::sum", {x, Ints({0}), Bool(true), None()}, {out({1, kWidth})}});  // a bias' gradient
  Add("mean rows", {"aten::mean", {x, Ints({-1}), Bool(true), None()}, {out({tokens_, 1})}});
}

// The parameters of transformer layers of width 512.
void MemoryCases::AddOptimizers() {
  SampleTensors s;
  const auto list = [&] {
    std::vector<TensorDesc> tensors;
    for (std::int64_t layer = 0; layer < scale_; ++layer) {
      for (const Dims& shape : {Dims{1536, 512}, Dims{1536}, Dims{512, 512}, Dims{512},
                                Dims{2048, 512}, Dims{2048}, Dims{512, 2048}, Dims{512}}) {
        tensors.push_back(s.Tensor(dtype_, shape));
      }
    }
    return tensors;
  };
  const auto numbers = [&](DType dtype) {
    std::vector<TensorDesc> tensors;
    for (std::int64_t i = 0; i < 8 * scale_; ++i) {
      tensors.push_back(s.Tensor(dtype, {}));
    }
    return Tensors(tensors);
  };
  const Value params = Tensors(list()), grads = Tensors(list());
  const Value means = Tensors(list()), squares = Tensors(list());
  Add("fused adamw", {"aten::_fused_adamw_",
                      {params, grads, means, squares, Value{ValueList{}}, numbers(DType::kFloat32),
                       Double(1e-3), Double(0.9), Double(0.999), Double(0.01), Double(1e-8),
                       Bool(false), Bool(false), None(), None()},
                      {}});
  Add("foreach add", {"aten::_foreach_add_", {params, grads, Double(-1e-3)}, {}});
  Add("foreach mul", {"aten::_foreach_mul_", {params, Double(1)}, {}});
  Add("foreach addcdiv", {"aten::_foreach_addcdiv_", {params, means, squares, Double(-1e-6)}, {}});
  Add("foreach norm", {"aten::_foreach_norm", {grads, Int(2), None()}, {numbers(dtype_)}});
}

void MemoryCases::AddEmbedding() {
  SampleTensors s;
  constexpr std::int64_t kRows = 32000;
  const Value table{s.Tensor(dtype_, {kRows, kWidth})};
  const Value ids{s.Tensor(DType::kInt64, {4, tokens_ / 4})};
  const Value rows{s.Tensor(dtype_, {4, tokens_ / 4, kWidth})};
  Add("embedding", {"aten::embedding", {table, ids, Int(-1), Bool(false), Bool(false)}, {rows}});
  Add("embedding backward",
      {"aten::embedding_dense_backward", {rows, ids, Int(kRows), Int(-1), Bool(false)}, {table}});
}

void MemoryCases::AddIndexing() {
  SampleTensors s;
  const Value x{s.Tensor(dtype_, {tokens_, kWidth})};
  const Value rows{s.Tensor(dtype_, {tokens_ / 2, kWidth})};
  const TensorDesc ids = s.Tensor(DType::kInt64, {tokens_ / 2});
  const Value picks{s.Tensor(DType::kInt64, {tokens_, kWidth / 4})};
  const Value picked{s.Tensor(dtype_, {tokens_, kWidth / 4})};
  Add("index rows", {"aten::index", {x, Tensors({ids})}, {rows}});
  Add("index_select", {"aten::index_select", {x, Int(0), Value{ids}}, {rows}});
  Add("gather", {"aten::gather", {x, Int(1), picks}, {picked}});
  Add("index_put", {"aten::index_put_", {x, Tensors({ids}), rows, Bool(true)}, {x}});
  Add("scatter_add", {"aten::scatter_add_", {x, Int(1), picks, picked}, {x}});
}

void MemoryCases::AddCopies() {
  SampleTensors s;
  const Value flat{s.Tensor(dtype_, {tokens_, kWidth})};
  const Value same{s.Tensor(dtype_, {tokens_, kWidth})};
  const Value wide{s.Tensor(dtype_, {tokens_, 3 * kWidth})};
  const TensorDesc& part = *flat.AsTensor();
  // Attention's (batch, heads, tokens, width) out of (batch, tokens, heads, width).
  const std::int64_t batch = 4 * scale_;
  const Value heads{s.Tensor(dtype_, {batch, 12, 512, 64})};
  const Value across{s.Strided(dtype_, {batch, 12, 512, 64}, {512 * kWidth, 64, kWidth, 1})};
  const DType other = dtype_ == DType::kFloat32 ? DType::kBFloat16 : DType::kFloat32;
  const Value narrow{s.Tensor(other, {tokens_, kWidth})};
  Add("copy", {"aten::copy_", {same, flat, Bool(false)}, {same}});
  Add("copy heads", {"aten::copy_", {heads, across, Bool(false)}, {heads}});
  Add("copy to " + std::string(Name(other)),
      {"aten::copy_", {narrow, flat, Bool(false)}, {narrow}});
  Add("cat", {"aten::cat", {Tensors({part, *same.AsTensor(), part}), Int(1)}, {wide}});
}

void MemoryCases::AddSorting() {
  SampleTensors s;
  const Dims shape = {64 * scale_, 4096};
  const Dims few = {64 * scale_, 50};
  const Value x{s.Tensor(dtype_, shape)};
  Add("sort", {"aten::sort",
               {x, Int(-1), Bool(false)},
               {Value{s.Tensor(dtype_, shape)}, Value{s.Tensor(DType::kInt64, shape)}}});
  Add("topk", {"aten::topk",
               {x, Int(50), Int(-1), Bool(true), Bool(true)},
               {Value{s.Tensor(dtype_, few)}, Value{s.Tensor(DType::kInt64, few)}}});
}

// ResNet's first pooling, and a UNet's way down.
void MemoryCases::AddPooling() {
  SampleTensors s;
  const auto image = [&](std::int64_t size) {
    return Value{s.Tensor(dtype_, {4 * scale_, 64, size, size})};
  };
  const auto both = [](std::int64_t n) { return Ints({n, n}); };
  const Value in = image(112), out = image(56);
  const Value at{s.Tensor(DType::kInt64, {4 * scale_, 64, 56, 56})};
  const Value no = Bool(false);
  Add("max pool",
      {"aten::max_pool2d_with_indices", {in, both(3), both(2), both(1), both(1), no}, {out, at}});
  Add("max pool backward", {"aten::max_pool2d_with_indices_backward",
                            {out, in, both(3), both(2), both(1), both(1), no, at},
                            {image(112)}});
  Add("average pool",
      {"aten::avg_pool2d", {in, both(2), both(2), both(0), no, Bool(true), None()}, {out}});
  Add("average pool backward", {"aten::avg_pool2d_backward",
                                {out, in, both(2), both(2), both(0), no, Bool(true), None()},
                                {image(112)}});
}

}  // namespace

void AppendMemoryBoundCases(DType dtype, int scale, std::vector<KernelBenchCase>& list) {
  MemoryCases cases(dtype, scale, list);
  cases.AddLayerNorm();
  cases.AddBatchNorm();
  cases.AddSoftmax();
  cases.AddElementwise();
  cases.AddRandom();
  cases.AddReductions();
  cases.AddOptimizers();
  cases.AddEmbedding();
  cases.AddIndexing();
  cases.AddCopies();
  cases.AddSorting();
  cases.AddPooling();
}

}  // namespace reprise
