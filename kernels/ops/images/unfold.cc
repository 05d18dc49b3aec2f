// Windows of images as columns (im2col) and columns added up to images (col2im):
// kernels/ops/images/unfold.cl.
#include <algorithm>
#include <array>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using Pair = std::array<std::int64_t, 2>;  // y, x

struct UnfoldCall {
  bool fold = false;
  const TensorDesc* image = nullptr;
  const TensorDesc* columns = nullptr;
  std::int64_t planes = 1;  // images times channels
  Pair size = {}, windows = {};
  Pair kernel = {}, dilation = {}, padding = {}, stride = {};
};

bool SetPair(const OpCall& call, std::size_t i, std::int64_t least, Pair& to) {
  const std::vector<std::int64_t> values = call.InputInts(i);
  if (values.empty() || values.size() > 2) {
    return false;
  }
  to = {values.front(), values.back()};
  return std::min(to[0], to[1]) >= least;
}

// The shapes that the sizes imply: (images, channels, y, x) and (images, channels × taps, windows),
// or both without images.
bool SetSizes(UnfoldCall& p) {
  const Dims& image = p.image->shape;
  const Dims& columns = p.columns->shape;
  const std::size_t rank = image.size();
  if ((rank != 3 && rank != 4) || columns.size() != rank - 1) {
    return false;
  }
  for (std::size_t d = 0; d < 2; ++d) {
    p.size[d] = image[rank - 2 + d];
    const std::int64_t span = p.size[d] + 2 * p.padding[d] - p.dilation[d] * (p.kernel[d] - 1) - 1;
    if (span < 0) {
      return false;
    }
    p.windows[d] = span / p.stride[d] + 1;
  }
  const std::int64_t images = rank == 4 ? image[0] : 1;
  p.planes = images * image[rank - 3];
  return (rank == 3 || columns[0] == images) &&
         columns[rank - 3] == image[rank - 3] * p.kernel[0] * p.kernel[1] &&
         columns[rank - 2] == p.windows[0] * p.windows[1];
}

// im2col(self, kernel_size, dilation, padding, stride)
// col2im(self, output_size, kernel_size, dilation, padding, stride)
std::optional<UnfoldCall> ParseUnfold(const OpCall& call) {
  UnfoldCall p;
  p.fold = call.name == "aten::col2im";
  p.image = p.fold ? call.OutputTensor(0) : call.InputTensor(0);
  p.columns = p.fold ? call.InputTensor(0) : call.OutputTensor(0);
  if (p.image == nullptr || p.columns == nullptr || p.image->dtype != p.columns->dtype ||
      !IsFloatKernelType(p.image->dtype)) {
    return std::nullopt;
  }
  const std::size_t first = p.fold ? 2 : 1;
  const bool fits = SetPair(call, first, 1, p.kernel) && SetPair(call, first + 1, 1, p.dilation) &&
                    SetPair(call, first + 2, 0, p.padding) &&
                    SetPair(call, first + 3, 1, p.stride) && SetSizes(p);
  return fits ? std::optional(p) : std::nullopt;
}

Status ReferenceUnfold(const UnfoldCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles from, ReadDoubles(p.fold ? *p.columns : *p.image, memory));
  const TensorDesc& target = p.fold ? *p.image : *p.columns;
  Doubles to(static_cast<std::size_t>(Count(target)), 0);
  const std::int64_t taps = p.kernel[0] * p.kernel[1];
  for (std::int64_t row = 0; row < p.planes * taps * p.windows[0]; ++row) {
    const std::int64_t tap = row / p.windows[0] % taps;
    const std::int64_t plane = row / p.windows[0] / taps;
    const std::int64_t y =
        row % p.windows[0] * p.stride[0] - p.padding[0] + tap / p.kernel[1] * p.dilation[0];
    for (std::int64_t ox = 0; ox < p.windows[1]; ++ox) {
      const std::int64_t x = ox * p.stride[1] - p.padding[1] + tap % p.kernel[1] * p.dilation[1];
      if (y < 0 || y >= p.size[0] || x < 0 || x >= p.size[1]) {
        continue;
      }
      const auto pixel = static_cast<std::size_t>((plane * p.size[0] + y) * p.size[1] + x);
      const auto entry = static_cast<std::size_t>(row * p.windows[1] + ox);
      to[p.fold ? pixel : entry] += from[p.fold ? entry : pixel];
    }
  }
  return WriteDoubles(target, memory, to);
}

void LowerUnfold(const UnfoldCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.image->dtype}}, AccumulatorOf(p.image->dtype));
  const DenseOperand image = rows.ReadOrWrite(*p.image, p.fold);
  const DenseOperand columns = rows.ReadOrWrite(*p.columns, !p.fold);
  const std::int64_t items =
      p.fold ? Count(*p.image) : p.planes * p.kernel[0] * p.kernel[1] * p.windows[0];
  rows.LaunchItems(p.fold ? "fold" : "unfold", items, image, columns, p.planes, p.size[0],
                   p.size[1], p.kernel[0], p.kernel[1], p.windows[0], p.windows[1], p.stride[0],
                   p.stride[1], p.padding[0], p.padding[1], p.dilation[0], p.dilation[1]);
}

std::vector<OpCall> UnfoldSamples() {
  using enum DType;
  using samples::Ints;
  std::vector<OpCall> calls;
  samples::SampleTensors t;
  const auto add = [&](const TensorDesc& image, const Dims& columns, const Dims& kernel,
                       const Dims& dilation, const Dims& padding, const Dims& stride) {
    const Value wide{t.Tensor(image.dtype, columns)};
    const Value size = Ints({image.shape.end()[-2], image.shape.end()[-1]});
    calls.push_back({"aten::im2col",
                     {{image}, Ints(kernel), Ints(dilation), Ints(padding), Ints(stride)},
                     {wide}});
    calls.push_back({"aten::col2im",
                     {wide, size, Ints(kernel), Ints(dilation), Ints(padding), Ints(stride)},
                     {{image}}});
  };
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    add(t.Tensor(dtype, {2, 3, 7, 9}), {2, 18, 36}, {3, 2}, {1, 2}, {1, 1}, {2, 1});
  }
  add(t.Strided(kFloat32, {2, 3, 4, 5}, {60, 1, 15, 3}), {2, 12, 4}, {2, 2}, {1, 1}, {0, 0},
      {2, 2});
  add(t.Tensor(kFloat32, {3, 6, 6}), {27, 4}, {3, 3}, {2, 2}, {0, 0}, {1, 1});
  add(t.Tensor(kFloat32, {1, 1, 1, 1}), {1, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1});
  add(t.Tensor(kFloat32, {0, 3, 4, 4}), {0, 12, 4}, {2, 2}, {1, 1}, {0, 0}, {2, 2});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeUnfold() {
  return MakeParsedKernel({"unfold", "unfold.cl", UnfoldSamples},
                          CallForm<UnfoldCall>{ParseUnfold, ReferenceUnfold, LowerUnfold});
}

}  // namespace reprise
