// Pooling in two dimensions: largest, average, adaptive average; forward and backward.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/host/parts.h"
#include "kernels/lowering.h"
#include "kernels/ops/pool_call.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Calls body(image, channel, output y, output x) for the planes [begin, end).
template <typename Body>
void ForEachWindow(const PoolCall& p, std::int64_t begin, std::int64_t end, Body&& body) {
  for (std::int64_t plane = begin; plane < end; ++plane) {
    for (std::int64_t y = 0; y < p.out_size[0]; ++y) {
      for (std::int64_t x = 0; x < p.out_size[1]; ++x) {
        body(plane / p.channels, plane % p.channels, y, x);
      }
    }
  }
}

// Pixels inside a window along one dimension: from `begin` on, `step` apart.
struct Taps {
  std::int64_t begin, end, step;
};
Taps TapsOf(const PoolCall& p, std::size_t d, std::int64_t o) {
  const PoolCall::Window window = p.WindowOf(d, o);
  const std::int64_t step = p.dilation[d];
  const std::int64_t before = window.begin < 0 ? (-window.begin + step - 1) / step : 0;
  return {window.begin + before * step, std::min(window.end, p.in_size[d]), step};
}

// Calls body(y, x) for every pixel of the input in a window, row by row.
template <typename Body>
void ForEachPixel(const PoolCall& p, std::int64_t oy, std::int64_t ox, Body&& body) {
  const Taps rows = TapsOf(p, 0, oy);
  const Taps columns = TapsOf(p, 1, ox);
  for (std::int64_t y = rows.begin; y < rows.end; y += rows.step) {
    for (std::int64_t x = columns.begin; x < columns.end; x += columns.step) {
      body(y, x);
    }
  }
}

// Is the pixel one of those that the window looks at? Indices may be synthetic.
bool IsTap(const PoolCall& p, std::int64_t pixel, std::int64_t oy, std::int64_t ox) {
  const auto is = [&](std::size_t d, std::int64_t at, std::int64_t o) {
    const Taps taps = TapsOf(p, d, o);
    return at >= taps.begin && at < taps.end && (at - taps.begin) % taps.step == 0;
  };
  return pixel >= 0 && is(0, pixel / p.in_size[1], oy) && is(1, pixel % p.in_size[1], ox);
}

// `Image` and `Indices` are a HostTensor, or what looks like one.
template <typename Image, typename Indices>
void Largest(const PoolCall& p, const Image& in, const Image& out, const Indices& index,
             std::int64_t begin, std::int64_t end) {
  ForEachWindow(p, begin, end, [&](auto b, auto c, auto oy, auto ox) {
    double most = -INFINITY;
    std::int64_t at = -1;
    ForEachPixel(p, oy, ox, [&](std::int64_t y, std::int64_t x) {
      const double v = in.Get(p.input.At(b, c, y, x));
      if (at < 0 || v > most || std::isnan(v)) {
        most = v;
        at = y * p.in_size[1] + x;
      }
    });
    out.Set(p.output.At(b, c, oy, ox), most);
    index.SetInt(p.index.At(b, c, oy, ox), std::max<std::int64_t>(at, 0));
  });
}

template <typename Image>
void Average(const PoolCall& p, const Image& in, const Image& out, std::int64_t begin,
             std::int64_t end) {
  ForEachWindow(p, begin, end, [&](auto b, auto c, auto oy, auto ox) {
    double sum = 0;
    ForEachPixel(p, oy, ox,
                 [&](std::int64_t y, std::int64_t x) { sum += in.Get(p.input.At(b, c, y, x)); });
    out.Set(p.output.At(b, c, oy, ox), sum / p.DivisorOf(oy, ox));
  });
}

template <typename Image, typename Indices>
void Backward(const PoolCall& p, const Image& in, const Image& out, const Indices& index,
              std::int64_t begin, std::int64_t end) {
  const std::int64_t pixels = p.in_size[0] * p.in_size[1];
  std::vector<double> sums(static_cast<std::size_t>(pixels));
  for (std::int64_t plane = begin; plane < end; ++plane) {
    std::fill(sums.begin(), sums.end(), 0.0);
    ForEachWindow(p, plane, plane + 1, [&](auto b, auto c, auto oy, auto ox) {
      const double grad = out.Get(p.output.At(b, c, oy, ox));
      if (p.kind == PoolCall::Kind::kMax) {
        const std::int64_t at = index.GetInt(p.index.At(b, c, oy, ox));
        if (IsTap(p, at, oy, ox)) {
          sums[static_cast<std::size_t>(at)] += grad;
        }
        return;
      }
      const double share = grad / p.DivisorOf(oy, ox);
      ForEachPixel(p, oy, ox, [&](std::int64_t y, std::int64_t x) {
        sums[static_cast<std::size_t>(y * p.in_size[1] + x)] += share;
      });
    });
    for (std::int64_t i = 0; i < pixels; ++i) {
      in.Set(p.input.At(plane / p.channels, plane % p.channels, i / p.in_size[1], i % p.in_size[1]),
             sums[static_cast<std::size_t>(i)]);
    }
  }
}

// A pixel takes about as long as moving so many bytes.
constexpr double kBytesWorth = 50;

// A HostTensor whose dtype is known.
template <typename T>
class Elements {
 public:
  explicit Elements(const HostTensor& tensor) : data_(reinterpret_cast<T*>(tensor.data())) {}
  [[nodiscard]] double Get(std::int64_t at) const { return static_cast<double>(data_[at]); }
  void Set(std::int64_t at, double value) const { data_[at] = static_cast<T>(value); }
  [[nodiscard]] std::int64_t GetInt(std::int64_t at) const {
    return static_cast<std::int64_t>(data_[at]);
  }
  void SetInt(std::int64_t at, std::int64_t value) const { data_[at] = static_cast<T>(value); }

 private:
  T* data_;
};

// The same struct as in pool.cl.
struct PoolArgs {
  std::int64_t in_at, out_at, index_at;
  std::int32_t in[4], out[4], index[4];
  std::int32_t images, channels;
  std::int32_t in_size[2], out_size[2];
  std::int32_t kernel[2], stride[2], padding[2], dilation[2];
  std::int32_t divisor, count_padding, adaptive;
};

template <std::size_t N>
void Assign(std::int32_t (&to)[N], const std::array<std::int64_t, N>& from) {
  std::transform(from.begin(), from.end(), to,
                 [](std::int64_t v) { return static_cast<std::int32_t>(v); });
}

PoolArgs MakeArgs(const PoolCall& p) {
  PoolArgs args = {};
  args.in_at = p.input.tensor->offset;
  args.out_at = p.output.tensor->offset;
  args.index_at = p.index.tensor != nullptr ? p.index.tensor->offset : 0;
  Assign(args.in, p.input.strides);
  Assign(args.out, p.output.strides);
  Assign(args.index, p.index.strides);
  args.images = static_cast<std::int32_t>(p.images);
  args.channels = static_cast<std::int32_t>(p.channels);
  Assign(args.in_size, p.in_size);
  Assign(args.out_size, p.out_size);
  Assign(args.kernel, p.kernel);
  Assign(args.stride, p.stride);
  Assign(args.padding, p.padding);
  Assign(args.dilation, p.dilation);
  args.divisor = static_cast<std::int32_t>(p.divisor);
  args.count_padding = p.count_padding ? 1 : 0;
  args.adaptive = p.adaptive ? 1 : 0;
  return args;
}

class PoolKernel : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "pool"; }
  [[nodiscard]] std::span<const std::string_view> operators() const override {
    return PoolOperators();
  }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParsePool(call).has_value();
  }

  // One operation (compare or add) a pixel of a window.
  [[nodiscard]] Cost CostOf(const OpCall& call) const override {
    const auto p = ParsePool(call);
    if (!p) {
      return EstimateCost(call);
    }
    const auto windows = static_cast<double>(ElementCount(p->output.tensor->shape));
    const auto pixels = static_cast<double>(ElementCount(p->input.tensor->shape));
    const auto taps = static_cast<double>(p->kernel[0] * p->kernel[1]);
    const bool scatter = p->backward && p->kind == PoolCall::Kind::kMax;
    Cost cost;
    cost.flops = scatter ? windows : p->adaptive ? pixels : windows * taps;
    cost.bytes = (windows + pixels) * SizeOf(p->input.tensor->dtype);
    cost.bytes += p->index.tensor != nullptr ? windows * SizeOf(DType::kInt64) : 0;
    return cost;
  }

  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, false);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, true);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const auto p = ParsePool(call);
    if (!p || !DeviceHasType(p->input.tensor->dtype, context.device)) {
      return UsageError(call.name + ": arguments that the pool kernel does not take");
    }
    const bool max = p->kind == PoolCall::Kind::kMax;
    const bool f64 = p->input.tensor->dtype == DType::kFloat64;
    DeviceKernel launch;
    launch.program = "pool.cl";
    launch.entry = std::string(max ? "pool_max" : "pool_average") + (p->backward ? "_grad" : "");
    launch.options = std::string(f64 ? "-DACC_NAME=float64" : "-DACC_NAME=float32") +
                     " -DV=4 -DL=1" + TypeOption("T", p->input.tensor->dtype);
    for (const PoolTensor* t : {&p->input, &p->output, &p->index}) {
      if (t->tensor != nullptr) {
        REPRISE_ASSIGN(Buffer * buffer, BufferOf(*t->tensor, context));
        launch.args.emplace_back(buffer);
      }
    }
    launch.args.push_back(StructArg(MakeArgs(*p)));
    const PoolTensor& written = p->backward ? p->input : p->output;
    SetItemsLaunch(launch, ElementCount(written.tensor->shape), context.device);
    return std::vector<Launch>{std::move(launch)};
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override;

 private:
  // The same loops either way; `fast`: without a look at the dtype for each element.
  static Status Run(const OpCall& call, const HostBindings& memory, bool fast);
};

Status PoolKernel::Run(const OpCall& call, const HostBindings& memory, bool fast) {
  const auto p = ParsePool(call);
  if (!p) {
    return UsageError(call.name + ": arguments that the pool kernel does not take");
  }
  const auto run = [&](const auto& in, const auto& out, const auto& index) {
    const double work = static_cast<double>(p->in_size[0] * p->in_size[1]) * kBytesWorth;
    InParts(p->images * p->channels, GrainOf(work), [&](std::int64_t begin, std::int64_t end) {
      if (p->backward) {
        Backward(*p, in, out, index, begin, end);
      } else if (p->kind == PoolCall::Kind::kMax) {
        Largest(*p, in, out, index, begin, end);
      } else {
        Average(*p, in, out, begin, end);
      }
    });
  };
  REPRISE_ASSIGN(const HostTensor in, HostTensor::Bind(*p->input.tensor, memory));
  REPRISE_ASSIGN(const HostTensor out, HostTensor::Bind(*p->output.tensor, memory));
  const TensorDesc* index = p->index.tensor != nullptr ? p->index.tensor : p->output.tensor;
  REPRISE_ASSIGN(const HostTensor indices, HostTensor::Bind(*index, memory));
  if (fast && in.dtype() == DType::kFloat32 &&
      (index == p->output.tensor || indices.dtype() == DType::kInt64)) {
    run(Elements<float>(in), Elements<float>(out), Elements<std::int64_t>(indices));
  } else {
    run(in, out, indices);
  }
  return {};
}

using samples::Bool, samples::Int, samples::Ints, samples::None, samples::SampleTensors;

std::vector<OpCall> PoolKernel::Samples() const {
  std::vector<OpCall> calls;
  for (const DType t : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
    SampleTensors s;
    const auto in = [&] { return Value{s.Tensor(t, {2, 3, 9, 12})}; };
    const auto out = [&](std::int64_t h, std::int64_t w) {
      return Value{s.Tensor(t, {2, 3, h, w})};
    };
    const auto index = [&] { return Value{s.Tensor(DType::kInt64, {2, 3, 5, 6})}; };
    const Value kernel = Ints({3, 3}), two = Ints({2, 2}), one = Ints({1, 1}), no = Bool(false);
    calls.push_back(
        {"aten::max_pool2d_with_indices", {in(), kernel, two, one, one, no}, {out(5, 6), index()}});
    calls.push_back({"aten::max_pool2d_with_indices_backward",
                     {out(5, 6), in(), kernel, two, one, one, no, index()},
                     {in()}});
    for (const bool count_padding : {true, false}) {
      const Value count = Bool(count_padding);
      calls.push_back(
          {"aten::avg_pool2d", {in(), kernel, two, one, no, count, None()}, {out(5, 6)}});
      calls.push_back({"aten::avg_pool2d_backward",
                       {out(5, 6), in(), kernel, two, one, no, count, None()},
                       {in()}});
    }
    calls.push_back({"aten::_adaptive_avg_pool2d", {in(), Ints({4, 5})}, {out(4, 5)}});
    calls.push_back({"aten::_adaptive_avg_pool2d_backward", {out(4, 5), in()}, {in()}});
    calls.push_back({"aten::adaptive_max_pool2d", {in(), Ints({5, 6})}, {out(5, 6), index()}});
    calls.push_back({"aten::adaptive_max_pool2d_backward", {out(5, 6), in(), index()}, {in()}});
  }
  SampleTensors s;
  const auto f = DType::kFloat32;
  const Value no = Bool(false), yes = Bool(true);
  // One pixel, no image, larger than the input, by channels.
  const auto adaptive = [&](const Value& from, const std::vector<std::int64_t>& to) {
    calls.push_back({"aten::adaptive_max_pool2d",
                     {from, Ints({to.end()[-2], to.end()[-1]})},
                     {Value{s.Tensor(f, to)}, Value{s.Tensor(DType::kInt64, to)}}});
    calls.push_back({"aten::adaptive_max_pool2d_backward",
                     {Value{s.Tensor(f, to)}, from, Value{s.Tensor(DType::kInt64, to)}},
                     {from}});
  };
  adaptive(Value{s.Tensor(f, {1, 1, 1, 1})}, {1, 1, 1, 1});
  adaptive(Value{s.Tensor(f, {0, 2, 4, 4})}, {0, 2, 1, 1});
  adaptive(Value{s.Tensor(f, {2, 3, 4})}, {2, 5, 3});
  adaptive(Value{s.Strided(f, {2, 3, 7, 5}, {105, 1, 15, 3})}, {2, 3, 3, 2});
  // Without images, by channels, dilated, windows over the far edge.
  const Value plane{s.Strided(f, {3, 10, 11}, {1, 33, 3})};
  calls.push_back({"aten::max_pool2d_with_indices",
                   {plane, Ints({2}), Ints({}), Ints({1}), Ints({2}), yes},
                   {Value{s.Tensor(f, {3, 6, 6})}, Value{s.Tensor(DType::kInt64, {3, 6, 6})}}});
  calls.push_back({"aten::max_pool2d_with_indices_backward",
                   {Value{s.Tensor(f, {3, 6, 6})}, plane, Ints({2}), Ints({2}), Ints({1}),
                    Ints({2}), yes, Value{s.Tensor(DType::kInt64, {3, 6, 6})}},
                   {Value{s.Tensor(f, {3, 10, 11})}}});
  calls.push_back({"aten::avg_pool2d",
                   {plane, Ints({3, 2}), Ints({2, 3}), Ints({0, 0}), yes, yes, Int(7)},
                   {Value{s.Tensor(f, {3, 5, 4})}}});
  calls.push_back({"aten::avg_pool2d_backward",
                   {Value{s.Tensor(f, {3, 5, 4})}, plane, Ints({3, 2}), Ints({2, 3}), Ints({0, 0}),
                    yes, yes, None()},
                   {Value{s.Tensor(f, {3, 10, 11})}}});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakePool() { return std::make_unique<PoolKernel>(); }

}  // namespace reprise
