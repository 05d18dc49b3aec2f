#include <algorithm>
#include <numeric>

#include "kernels/ops/images/conv_call.h"
#include "kernels/ops/products/gemm_launch.h"

namespace reprise {
namespace {

constexpr int kConvPartSlot = 3;  // behind those of padded images and of a weight gradient's parts

// The same structs as in conv.cl.
struct PadArgs {
  std::int64_t from_at;
  std::array<std::int64_t, 4> from;
  std::int64_t to_at;
  std::int64_t channels, height, width, rows;
  std::int64_t from_height, from_width, above, left;
};
struct BiasArgs {
  std::int64_t grad_at;
  std::array<std::int64_t, 4> grad;
  std::int64_t bias_at, bias;
  std::int64_t images, channels, height, width;
};
struct SumArgs {
  std::int64_t to_at;
  std::array<std::int64_t, 4> to;
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
struct OutputPhase {
  std::int64_t pixels = 0, first = 0, step = 1, taps = 0, base = 0, tap_distance = 0;
};
OutputPhase MakeOutputPhase(const ConvCall& c, std::size_t d, std::int64_t r) {
  OutputPhase phase;
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
  ConvLowering(const ConvCall& c, RowLowering& rows) : c_(c), rows_(rows) {
    rows_.UseTypes({{"T", c.weight.tensor->dtype}}, DType::kFloat32);
  }

  void Lower() {
    if (c_.result.tensor != nullptr) {
      AppendForward();
    }
    if (c_.input_grad.tensor != nullptr) {
      AppendInputGrad();
    }
    if (c_.weight_grad.tensor != nullptr) {
      AppendWeightGrad();
    }
    if (c_.bias_grad != nullptr) {
      AppendBiasGrad();
    }
  }

 private:
  [[nodiscard]] Images ImagesOf(const ConvTensor& t) {
    return {rows_.BufferFor(*t.tensor), t.tensor->dtype, t.tensor->offset, t.strides};
  }

  // With so many zeros before and after, per dimension; the tensor itself if there are none.
  [[nodiscard]] Images Padded(const ConvTensor& t, const ConvCall::Pair& before,
                              const ConvCall::Pair& after) {
    const Images from = ImagesOf(t);
    if (std::max({before[0], before[1], after[0], after[1]}) <= 0) {
      return from;
    }
    PadArgs args = {};
    args.from_at = from.offset;
    args.from = from.strides;
    args.from_height = t.shape[2];
    args.from_width = t.shape[3];
    args.above = before[0];
    args.left = before[1];
    args.channels = t.shape[1];
    args.height = args.from_height + before[0] + after[0];
    args.width = args.from_width + before[1] + after[1];
    args.rows = t.shape[0] * args.channels * args.height;
    const std::int64_t pixels = args.height * args.width;
    const std::int64_t count = args.rows * args.width;
    const Images to{rows_.Scratch(count * SizeOf(from.dtype)).buffer,
                    from.dtype,
                    before[0] * args.width + before[1],
                    {args.channels * pixels, pixels, args.width, 1}};
    rows_.LaunchItems("conv_pad", count, from.buffer, to.buffer, StructArg(args));
    return to;
  }

  // The padded input, once for a call; its last rows and columns as far as the kernel's window
  // reaches.
  [[nodiscard]] const Images& PaddedInput() {
    if (!padded_input_) {
      ConvCall::Pair after = {};
      for (std::size_t d = 0; d < 2; ++d) {
        const std::int64_t reach = (c_.out[d] - 1) * c_.stride[d] - c_.padding[d] +
                                   (c_.kernel[d] - 1) * c_.dilation[d] + 1;
        after[d] = std::max<std::int64_t>(0, reach - c_.in[d]);
      }
      padded_input_ = Padded(c_.input, c_.padding, after);
    }
    return *padded_input_;
  }

  // As an operand of all groups; the strides are given by the caller.
  static GemmOperand Operand(const Images& x, std::int64_t shift, std::int64_t group_stride,
                             GemmStrides row, GemmStrides column) {
    return {x.buffer, x.dtype, x.offset + shift, {group_stride, 0}, row, column};
  }
  void Append(const GemmProblem& p) { rows_.Append(LowerGemm(p, rows_.context(), kConvPartSlot)); }

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
  void AppendForward() {
    const Images x = PaddedInput();
    const Images w = ImagesOf(c_.weight);
    const Images y = ImagesOf(c_.result);
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
      AddBias(p);
    }
    Append(p);
  }

  // Rows are channels of a group.
  void AddBias(GemmProblem& p) {
    if (c_.bias != nullptr) {
      p.c.buffer = rows_.BufferFor(*c_.bias);
      p.c.offset = c_.bias->offset;
      p.c.row = {c_.bias->strides[0], 0, 0};
      p.c.batch = {p.m * c_.bias->strides[0], 0};
      p.beta = 1;
    }
  }

  // input gradient (c; image, y, x) = weight (c; o, taps) × output gradient, phase by phase.
  void AppendInputGrad() {
    ConvCall::Pair before = {};
    ConvCall::Pair after = {};
    for (std::size_t d = 0; d < 2; ++d) {
      for (std::int64_t r = 0; r < c_.stride[d]; ++r) {
        const OutputPhase phase = MakeOutputPhase(c_, d, r);
        if (phase.taps > 0 && phase.pixels > 0) {
          before[d] = std::max(before[d], (phase.taps - 1) * phase.tap_distance - phase.base);
          after[d] = std::max(after[d], phase.base + phase.pixels - c_.out[d]);
        }
      }
    }
    const Images g = Padded(c_.output, before, after);
    for (std::int64_t ry = 0; ry < c_.stride[0]; ++ry) {
      for (std::int64_t rx = 0; rx < c_.stride[1]; ++rx) {
        AppendPhase(g, {ry, rx});
      }
    }
  }

  void AppendPhase(const Images& g, const ConvCall::Pair& r) {
    const Images w = ImagesOf(c_.weight);
    const Images x = ImagesOf(c_.input_grad);
    const OutputPhase py = MakeOutputPhase(c_, 0, r[0]);
    const OutputPhase px = MakeOutputPhase(c_, 1, r[1]);
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
      AddBias(p);
    }
    Append(p);
  }

  // weight gradient (o; c, i, j) = output gradient (o; image, y, x) × input under the window. Few
  // results, deep sums: pieces of the images are summed apart where that fills the device.
  void AppendWeightGrad() {
    const Images x = PaddedInput();
    const Images g = ImagesOf(c_.output);
    const Images w = ImagesOf(c_.weight_grad);
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
      return Append(p);
    }
    const std::int64_t count = c_.groups * p.m * p.n;
    const Images pieces{rows_.Scratch(parts * count * 4).buffer};
    p.d = Operand(pieces, 0, p.m * p.n, {p.n, 0, 0}, {1, c_.kernel[1], taps});
    p.d.batch[1] = count;
    Append(p);
    const SumArgs args = {w.offset,     w.strides, c_.in_channels, c_.kernel[0],
                          c_.kernel[1], count,     parts};
    rows_.LaunchItems("conv_sum_parts", count, pieces.buffer, w.buffer, StructArg(args));
  }

  // A divisor of the number of images.
  [[nodiscard]] std::int64_t WeightParts() const {
    const std::int64_t units = std::max(1, rows_.device().compute_units);
    const std::int64_t columns = c_.in_channels * c_.kernel[0] * c_.kernel[1];
    // A CPU cuts rows as fine as 24; a GPU wants two tiles of 64 × 64 for each unit.
    const std::int64_t items =
        rows_.device().is_cpu ? c_.groups * (c_.out_channels + 23) / 24
                              : c_.groups * ((c_.out_channels + 63) / 64) * ((columns + 63) / 64);
    const std::int64_t wanted =
        (rows_.device().is_cpu ? units : 2 * units) / std::max<std::int64_t>(1, items);
    std::int64_t parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, c_.images));
    while (c_.images % parts != 0) {
      --parts;
    }
    return parts;
  }

  void AppendBiasGrad() {
    const Images g = ImagesOf(c_.transposed ? c_.input : c_.output);
    const ConvCall::Pair& size = c_.transposed ? c_.in : c_.out;
    BiasArgs args = {};
    args.grad_at = g.offset;
    args.grad = g.strides;
    args.bias_at = c_.bias_grad->offset;
    args.bias = c_.bias_grad->strides[0];
    args.images = c_.images;
    args.channels = (c_.transposed ? c_.in_channels : c_.out_channels) * c_.groups;
    args.height = size[0];
    args.width = size[1];
    const std::int64_t units = std::max(1, rows_.device().compute_units);
    rows_.LaunchGroups("conv_bias_grad",
                       rows_.device().is_cpu ? std::min(args.channels, units * 2) : args.channels,
                       g.buffer, rows_.BufferFor(*c_.bias_grad), StructArg(args));
  }

  const ConvCall& c_;
  RowLowering& rows_;
  std::optional<Images> padded_input_;
};

}  // namespace

void LowerConv(const ConvCall& c, RowLowering& rows) { ConvLowering(c, rows).Lower(); }

}  // namespace reprise
