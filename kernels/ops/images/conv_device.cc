#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/device_lowering.h"
#include "kernels/ops/images/conv_run.h"
#include "kernels/ops/products/gemm_launch.h"

namespace reprise {
namespace {

constexpr int kConvPartSlot = 0;
constexpr int kInputSlot = 1;
constexpr int kGradSlot = 2;
constexpr int kWeightPartsSlot = 3;
constexpr std::size_t kConvGpuGroup = 256;

// The same structs as in conv.cl.
struct PadArgs {
  std::int64_t from_at, from[4], to_at;
  std::int64_t channels, height, width, rows;
  std::int64_t from_height, from_width, above, left;
};
struct BiasArgs {
  std::int64_t grad_at, grad[4], bias_at, bias;
  std::int64_t images, channels, height, width;
};
struct SumArgs {
  std::int64_t to_at, to[4];
  std::int64_t channels, height, width, count, parts;
};

// Images in a buffer, perhaps with zeros around them: (0, 0) is the first pixel proper.
struct Images {
  Buffer* buffer = nullptr;
  DType dtype = DType::kFloat32;
  std::int64_t offset = 0;
  std::array<std::int64_t, 4> strides = {};
};

// One dimension of the input's gradient, cut into `stride` phases: pixels r, r + stride, … get
// contributions from every step-th tap only, from `first` on, so each phase is a convolution
// without stride: pixel q of it sums over taps t of out(base + q - t tap_distance).
struct Phase {
  std::int64_t pixels = 0, first = 0, step = 1, taps = 0, base = 0, tap_distance = 0;
};
Phase MakePhase(const ConvCall& c, std::size_t d, std::int64_t r) {
  Phase phase;
  phase.pixels = std::max<std::int64_t>(0, (c.in[d] - r + c.stride[d] - 1) / c.stride[d]);
  const std::int64_t common = std::gcd(c.stride[d], c.dilation[d]);
  phase.step = c.stride[d] / common;
  phase.tap_distance = c.dilation[d] / common;
  const std::int64_t wanted = r + c.padding[d];
  for (std::int64_t k = 0; k < std::min(phase.step, c.kernel[d]); ++k) {
    if ((wanted - k * c.dilation[d]) % c.stride[d] == 0) {
      phase.first = k;
      phase.taps = (c.kernel[d] - k + phase.step - 1) / phase.step;
      phase.base = (wanted - k * c.dilation[d]) / c.stride[d];
    }
  }
  return phase;
}

class ConvLowering {
 public:
  ConvLowering(const ConvCall& c, const LowerContext& context) : c_(c), context_(context) {}

  [[nodiscard]] Result<std::vector<Launch>> Lower() {
    if (c_.result.tensor != nullptr) {
      REPRISE_TRY(AppendForward());
    }
    if (c_.input_grad.tensor != nullptr) {
      REPRISE_TRY(AppendInputGrad());
    }
    if (c_.weight_grad.tensor != nullptr) {
      REPRISE_TRY(AppendWeightGrad());
    }
    if (c_.bias_grad != nullptr) {
      REPRISE_TRY(AppendBiasGrad());
    }
    return std::move(launches_);
  }

 private:
  [[nodiscard]] Result<Images> ImagesOf(const ConvTensor& t) const {
    REPRISE_ASSIGN(Buffer * buffer, BufferOf(*t.tensor, context_));
    return Images{buffer, t.tensor->dtype, t.tensor->offset, t.strides};
  }

  DeviceKernel Start(std::string entry) const {
    DeviceKernel launch;
    launch.program = "conv.cl";
    launch.entry = std::move(entry);
    launch.options =
        std::string("-DACC_NAME=float32") +
        (context_.device.is_cpu ? " -DV=16 -DL=1" : " -DV=4 -DL=" + std::to_string(kConvGpuGroup)) +
        TypeOption("T", c_.weight.tensor->dtype);
    return launch;
  }

  // With so many zeros before and after, per dimension; the tensor itself if there are none.
  [[nodiscard]] Result<Images> Padded(const ConvTensor& t, const ConvCall::Pair& before,
                                      const ConvCall::Pair& after, int slot) {
    REPRISE_ASSIGN(const Images from, ImagesOf(t));
    if (std::max({before[0], before[1], after[0], after[1]}) <= 0) {
      return from;
    }
    const auto& shape = t.tensor->shape;
    PadArgs args = {};
    args.from_at = from.offset;
    std::copy(from.strides.begin(), from.strides.end(), args.from);
    args.from_height = shape.size() == 3 ? 1 : shape[2];
    args.from_width = shape.back();
    args.above = before[0];
    args.left = before[1];
    args.channels = shape[1];
    args.height = args.from_height + before[0] + after[0];
    args.width = args.from_width + before[1] + after[1];
    args.rows = shape[0] * args.channels * args.height;
    Images to;
    to.dtype = from.dtype;
    REPRISE_ASSIGN(to.buffer, context_.scratch(slot, args.rows * args.width * SizeOf(to.dtype)));
    to.strides = {args.channels * args.height * args.width, args.height * args.width, args.width,
                  1};
    to.offset = before[0] * to.strides[2] + before[1];
    DeviceKernel launch = Start("conv_pad");
    launch.args = {from.buffer, to.buffer, StructArg(args)};
    SetItemsLaunch(launch, args.rows * args.width, context_.device);
    launches_.emplace_back(std::move(launch));
    return to;
  }

  // The padded input; its last rows and columns as far as the kernel's window reaches.
  [[nodiscard]] Result<Images> PaddedInput() {
    ConvCall::Pair after = {};
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t reach =
          (c_.out[d] - 1) * c_.stride[d] - c_.padding[d] + (c_.kernel[d] - 1) * c_.dilation[d] + 1;
      after[d] = std::max<std::int64_t>(0, reach - c_.in[d]);
    }
    return Padded(c_.input, c_.padding, after, kInputSlot);
  }

  // As an operand of all groups; the strides are given by the caller.
  static GemmOperand Operand(const Images& x, std::int64_t shift, std::int64_t group_stride,
                             GemmStrides row, GemmStrides column) {
    GemmOperand operand;
    operand.buffer = x.buffer;
    operand.dtype = x.dtype;
    operand.offset = x.offset + shift;
    operand.batch = {group_stride, 0};
    operand.row = row;
    operand.column = column;
    return operand;
  }

  // Strides of the taps (x, y, channel) and of the window's positions (x, y, image) on an input.
  [[nodiscard]] GemmStrides Taps(const Images& x) const {
    return {x.strides[3] * c_.dilation[1], x.strides[2] * c_.dilation[0], x.strides[1]};
  }
  [[nodiscard]] GemmStrides Positions(const Images& x) const {
    return {x.strides[3] * c_.stride[1], x.strides[2] * c_.stride[0], x.strides[0]};
  }
  static GemmStrides Pixels(const Images& x) { return {x.strides[3], x.strides[2], x.strides[0]}; }
  static GemmStrides Weights(const Images& w) { return {w.strides[3], w.strides[2], w.strides[1]}; }

  // out (o; image, y, x) = weight (o; c, i, j) × input under the window.
  [[nodiscard]] Status AppendForward() {
    REPRISE_ASSIGN(const Images x, PaddedInput());
    REPRISE_ASSIGN(const Images w, ImagesOf(c_.weight));
    REPRISE_ASSIGN(const Images y, ImagesOf(c_.result));
    const ConvCall::Pair padding = c_.padding;
    GemmProblem p;
    p.m = c_.out_channels;
    p.k = c_.in_channels * c_.kernel[0] * c_.kernel[1];
    p.n = c_.images * c_.out[0] * c_.out[1];
    p.batch = {c_.groups, 1};
    p.k_index = {c_.kernel[1], c_.kernel[0]};
    p.n_index = {c_.out[1], c_.out[0]};
    p.a = Operand(w, 0, c_.out_channels * w.strides[0], {w.strides[0], 0, 0}, Weights(w));
    p.b = Operand(x, -padding[0] * x.strides[2] - padding[1] * x.strides[3],
                  c_.in_channels * x.strides[1], Taps(x), Positions(x));
    p.d = Operand(y, 0, c_.out_channels * y.strides[1], {y.strides[1], 0, 0}, Pixels(y));
    if (!c_.transposed) {
      REPRISE_TRY(AddBias(p));
    }
    return AppendGemm(p, context_, kConvPartSlot, launches_);
  }

  // Rows are channels of a group.
  [[nodiscard]] Status AddBias(GemmProblem& p) const {
    if (c_.bias != nullptr) {
      REPRISE_ASSIGN(p.c.buffer, BufferOf(*c_.bias, context_));
      p.c.offset = c_.bias->offset;
      p.c.row = {c_.bias->strides[0], 0, 0};
      p.c.batch = {p.m * c_.bias->strides[0], 0};
      p.beta = 1;
    }
    return {};
  }

  // input gradient (c; image, y, x) = weight (c; o, taps) × output gradient, phase by phase.
  [[nodiscard]] Status AppendInputGrad() {
    ConvCall::Pair before = {};
    ConvCall::Pair after = {};
    for (std::size_t d = 0; d < 2; ++d) {
      for (std::int64_t r = 0; r < c_.stride[d]; ++r) {
        const Phase phase = MakePhase(c_, d, r);
        if (phase.taps > 0 && phase.pixels > 0) {
          before[d] = std::max(before[d], (phase.taps - 1) * phase.tap_distance - phase.base);
          after[d] = std::max(after[d], phase.base + phase.pixels - c_.out[d]);
        }
      }
    }
    REPRISE_ASSIGN(const Images g, Padded(c_.output, before, after, kGradSlot));
    for (std::int64_t ry = 0; ry < c_.stride[0]; ++ry) {
      for (std::int64_t rx = 0; rx < c_.stride[1]; ++rx) {
        REPRISE_TRY(AppendPhase(g, {ry, rx}));
      }
    }
    return {};
  }

  [[nodiscard]] Status AppendPhase(const Images& g, const ConvCall::Pair& r) {
    REPRISE_ASSIGN(const Images w, ImagesOf(c_.weight));
    REPRISE_ASSIGN(const Images x, ImagesOf(c_.input_grad));
    const Phase py = MakePhase(c_, 0, r[0]);
    const Phase px = MakePhase(c_, 1, r[1]);
    GemmProblem p;
    p.m = c_.in_channels;
    p.k = c_.out_channels * py.taps * px.taps;  // 0: this phase's pixels are never seen
    p.n = c_.images * py.pixels * px.pixels;
    p.batch = {c_.groups, 1};
    p.k_index = {std::max<std::int64_t>(1, px.taps), std::max<std::int64_t>(1, py.taps)};
    p.n_index = {std::max<std::int64_t>(1, px.pixels), std::max<std::int64_t>(1, py.pixels)};
    p.a = Operand(w, py.first * w.strides[2] + px.first * w.strides[3],
                  c_.out_channels * w.strides[0], {w.strides[1], 0, 0},
                  {px.step * w.strides[3], py.step * w.strides[2], w.strides[0]});
    p.b =
        Operand(g, py.base * g.strides[2] + px.base * g.strides[3], c_.out_channels * g.strides[1],
                {-px.tap_distance * g.strides[3], -py.tap_distance * g.strides[2], g.strides[1]},
                Pixels(g));
    p.d = Operand(x, r[0] * x.strides[2] + r[1] * x.strides[3], c_.in_channels * x.strides[1],
                  {x.strides[1], 0, 0}, Positions(x));
    if (c_.transposed) {
      REPRISE_TRY(AddBias(p));
    }
    return AppendGemm(p, context_, kConvPartSlot, launches_);
  }

  // weight gradient (o; c, i, j) = output gradient (o; image, y, x) × input under the window. Few
  // results, deep sums: pieces of the images are summed apart where that fills the device.
  [[nodiscard]] Status AppendWeightGrad() {
    REPRISE_ASSIGN(const Images x, PaddedInput());
    REPRISE_ASSIGN(const Images g, ImagesOf(c_.output));
    REPRISE_ASSIGN(const Images w, ImagesOf(c_.weight_grad));
    const std::int64_t taps = c_.kernel[0] * c_.kernel[1];
    const std::int64_t parts = WeightParts();
    const std::int64_t images = c_.images / parts;
    GemmProblem p;
    p.m = c_.out_channels;
    p.k = images * c_.out[0] * c_.out[1];
    p.n = c_.in_channels * taps;
    p.batch = {c_.groups, parts};
    p.k_index = {c_.out[1], c_.out[0]};
    p.n_index = {c_.kernel[1], c_.kernel[0]};
    p.a = Operand(g, 0, c_.out_channels * g.strides[1], {g.strides[1], 0, 0}, Pixels(g));
    p.b = Operand(x, -c_.padding[0] * x.strides[2] - c_.padding[1] * x.strides[3],
                  c_.in_channels * x.strides[1], Positions(x), Taps(x));
    p.a.batch[1] = images * g.strides[0];
    p.b.batch[1] = images * x.strides[0];
    if (parts == 1) {
      p.d = Operand(w, 0, c_.out_channels * w.strides[0], {w.strides[0], 0, 0}, Weights(w));
      return AppendGemm(p, context_, kConvPartSlot, launches_);
    }
    const std::int64_t count = c_.groups * p.m * p.n;
    Images pieces;
    REPRISE_ASSIGN(pieces.buffer, context_.scratch(kWeightPartsSlot, parts * count * 4));
    p.d = Operand(pieces, 0, p.m * p.n, {p.n, 0, 0}, {1, c_.kernel[1], taps});
    p.d.batch[1] = count;
    REPRISE_TRY(AppendGemm(p, context_, kConvPartSlot, launches_));
    SumArgs args = {w.offset, {}, c_.in_channels, c_.kernel[0], c_.kernel[1], count, parts};
    std::copy(w.strides.begin(), w.strides.end(), args.to);
    DeviceKernel launch = Start("conv_sum_parts");
    launch.args = {pieces.buffer, w.buffer, StructArg(args)};
    SetItemsLaunch(launch, count, context_.device);
    launches_.emplace_back(std::move(launch));
    return {};
  }

  // A divisor of the number of images.
  [[nodiscard]] std::int64_t WeightParts() const {
    const std::int64_t units = std::max(1, context_.device.compute_units);
    const std::int64_t columns = c_.in_channels * c_.kernel[0] * c_.kernel[1];
    // A CPU cuts rows as fine as 24; a GPU wants two tiles of 64 × 64 for each unit.
    const std::int64_t items =
        context_.device.is_cpu ? c_.groups * (c_.out_channels + 23) / 24
                               : c_.groups * ((c_.out_channels + 63) / 64) * ((columns + 63) / 64);
    const std::int64_t wanted =
        (context_.device.is_cpu ? units : 2 * units) / std::max<std::int64_t>(1, items);
    std::int64_t parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, c_.images));
    while (c_.images % parts != 0) {
      --parts;
    }
    return parts;
  }

  [[nodiscard]] Status AppendBiasGrad() {
    REPRISE_ASSIGN(const Images g, ImagesOf(c_.transposed ? c_.input : c_.output));
    const ConvCall::Pair& size = c_.transposed ? c_.in : c_.out;
    BiasArgs args = {};
    args.grad_at = g.offset;
    std::copy(g.strides.begin(), g.strides.end(), args.grad);
    args.bias_at = c_.bias_grad->offset;
    args.bias = c_.bias_grad->strides[0];
    args.images = c_.images;
    args.channels = (c_.transposed ? c_.in_channels : c_.out_channels) * c_.groups;
    args.height = size[0];
    args.width = size[1];
    DeviceKernel launch = Start("conv_bias_grad");
    launch.args = {g.buffer, nullptr, StructArg(args)};
    REPRISE_ASSIGN(launch.args[1], BufferOf(*c_.bias_grad, context_));
    const bool cpu = context_.device.is_cpu;
    launch.local = {cpu ? 1 : kConvGpuGroup, 1, 1};
    const std::int64_t units = std::max(1, context_.device.compute_units);
    const std::int64_t groups = cpu ? std::min(args.channels, units * 2) : args.channels;
    launch.global = {static_cast<std::size_t>(groups) * launch.local[0], 1, 1};
    launches_.emplace_back(std::move(launch));
    return {};
  }

  const ConvCall& c_;
  const LowerContext& context_;
  std::vector<Launch> launches_;
};

}  // namespace

Result<std::vector<Launch>> LowerConv(const ConvCall& c, const LowerContext& context) {
  return ConvLowering(c, context).Lower();
}

}  // namespace reprise
