// Images sampled at the points of a grid, and the gradients of both:
// kernels/ops/images/grid_sample.cl.
#include <array>
#include <cmath>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

enum class Padding : std::int32_t { kZeros, kBorder, kReflection };  // as PyTorch numbers them

struct GridSampleCall {
  bool backward = false, nearest = false, corners = false;
  Padding padding = Padding::kZeros;
  const TensorDesc* image = nullptr;
  const TensorDesc* grid = nullptr;
  const TensorDesc* out = nullptr;  // backward: the gradient that is read
  const TensorDesc* image_grad = nullptr;
  const TensorDesc* grid_grad = nullptr;
  std::int64_t images = 0, channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
};

// grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)
// …_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners,
// output_mask)
std::optional<GridSampleCall> ParseGridSample(const OpCall& call) {
  GridSampleCall p;
  p.backward = call.name.ends_with("_backward");
  const std::size_t first = p.backward ? 1 : 0;
  p.image = call.InputTensor(first);
  p.grid = call.InputTensor(first + 1);
  p.out = p.backward ? call.InputTensor(0) : call.OutputTensor(0);
  p.image_grad = p.backward ? call.OutputTensor(0) : nullptr;
  p.grid_grad = p.backward ? call.OutputTensor(1) : nullptr;
  const auto mode = call.Argument(first + 2).AsNumber<std::int64_t>(0);
  const auto padding = call.Argument(first + 3).AsNumber<std::int64_t>(0);
  if (p.image == nullptr || p.grid == nullptr || p.out == nullptr || Rank(*p.image) != 4 ||
      Rank(*p.grid) != 4 || !IsFloatKernelType(p.image->dtype) || mode < 0 || mode > 1 ||
      padding < 0 || padding > 2) {
    return std::nullopt;
  }
  p.nearest = mode == 1;
  p.padding = static_cast<Padding>(padding);
  p.corners = TruthOr(call.Argument(first + 4), false);
  const Dims& in = p.image->shape;
  p.images = in[0];
  p.channels = in[1];
  p.height = in[2];
  p.width = in[3];
  p.out_height = p.grid->shape[1];
  p.out_width = p.grid->shape[2];
  const Dims out = {p.images, p.channels, p.out_height, p.out_width};
  const auto is = [&](const TensorDesc* t, const Dims& shape) {
    return t == nullptr || (t->shape == shape && t->dtype == p.image->dtype);
  };
  const bool fits = is(p.grid, {p.images, p.out_height, p.out_width, 2}) && is(p.out, out) &&
                    is(p.image_grad, in) && is(p.grid_grad, p.grid->shape) &&
                    std::min(p.height, p.width) > 0 &&
                    (!p.backward || p.image_grad != nullptr || p.grid_grad != nullptr);
  return fits ? std::optional(p) : std::nullopt;
}

// The rest of this part as in grid_sample.cl.
struct Place {
  double at, slope;
};

Place Clip(Place p, double last) {
  if (!(p.at > 0)) {
    p = {0, 0};
  }
  return p.at >= last ? Place{last, 0} : p;
}

Place Reflect(Place p, double low, double span) {
  if (span <= 0) {
    return {0, 0};
  }
  const double from = p.at - low;
  const double flips = std::floor(std::fabs(from) / span);
  const double extra = std::fabs(from) - flips * span;
  const bool odd = std::fmod(flips, 2) != 0;
  return {(odd ? span - extra : extra) + low, (from < 0) != odd ? -p.slope : p.slope};
}

Place PlaceOf(const GridSampleCall& p, double x, std::int64_t extent) {
  const auto n = static_cast<double>(extent);
  Place place{};
  place.slope = (p.corners ? n - 1 : n) / 2;
  place.at = p.corners ? (x + 1) * place.slope : ((x + 1) * n - 1) / 2;
  if (p.padding == Padding::kReflection) {
    place = Reflect(place, p.corners ? 0 : -0.5, p.corners ? n - 1 : n);
  }
  if (p.padding != Padding::kZeros) {
    place = Clip(place, n - 1);
  }
  if (!(std::fabs(place.at) < 1e9)) {
    place.at = -100;
  }
  return place;
}

struct Tap {
  std::size_t at = 0;  // in a plane
  double weight = 0, by_x = 0, by_y = 0;
};

std::array<Tap, 4> TapsOf(const GridSampleCall& p, double grid_x, double grid_y) {
  const Place x = PlaceOf(p, grid_x, p.width);
  const Place y = PlaceOf(p, grid_y, p.height);
  const double left = p.nearest ? std::nearbyint(x.at) : std::floor(x.at);
  const double top = p.nearest ? std::nearbyint(y.at) : std::floor(y.at);
  const double fx = p.nearest ? 0 : x.at - left;
  const double fy = p.nearest ? 0 : y.at - top;
  std::array<Tap, 4> taps;
  for (int k = 0; k < (p.nearest ? 1 : 4); ++k) {
    const int dx = k % 2;
    const int dy = k / 2;
    const std::int64_t px = static_cast<std::int64_t>(left) + dx;
    const std::int64_t py = static_cast<std::int64_t>(top) + dy;
    if (px < 0 || px >= p.width || py < 0 || py >= p.height) {
      continue;
    }
    const double wx = dx == 1 ? fx : 1 - fx;
    const double wy = dy == 1 ? fy : 1 - fy;
    const double moves = p.nearest ? 0 : 1;
    taps[static_cast<std::size_t>(k)] = {static_cast<std::size_t>(py * p.width + px), wx * wy,
                                         moves * (dx == 1 ? wy : -wy) * x.slope,
                                         moves * (dy == 1 ? wx : -wx) * y.slope};
  }
  return taps;
}

Status ReferenceGridSample(const GridSampleCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles image, ReadDoubles(*p.image, memory));
  REPRISE_ASSIGN(const Doubles grid, ReadDoubles(*p.grid, memory));
  Doubles out(static_cast<std::size_t>(Count(*p.out)), 0);
  if (p.backward) {
    REPRISE_ASSIGN(out, ReadDoubles(*p.out, memory));
  }
  Doubles image_grad(image.size(), 0);
  Doubles grid_grad(grid.size(), 0);
  const auto points = static_cast<std::size_t>(p.out_height * p.out_width);
  const auto pixels = static_cast<std::size_t>(p.height * p.width);
  const auto channels = static_cast<std::size_t>(p.channels);
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.images) * points; ++i) {
    const auto taps = TapsOf(p, grid[2 * i], grid[2 * i + 1]);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t plane = i / points * channels + c;
      double& sample = out[plane * points + i % points];
      for (const Tap& tap : taps) {
        const std::size_t at = plane * pixels + tap.at;
        if (p.backward) {
          image_grad[at] += sample * tap.weight;
          grid_grad[2 * i] += sample * image[at] * tap.by_x;
          grid_grad[2 * i + 1] += sample * image[at] * tap.by_y;
        } else {
          sample += tap.weight * image[at];
        }
      }
    }
  }
  if (!p.backward) {
    return WriteDoubles(*p.out, memory, out);
  }
  REPRISE_TRY(WriteDoublesIf(p.image_grad, memory, image_grad));
  return WriteDoublesIf(p.grid_grad, memory, grid_grad);
}

void LowerGridSample(const GridSampleCall& p, RowLowering& rows) {
  const DType accumulator = AccumulatorOf(p.image->dtype);
  rows.UseTypes({{"X", p.image->dtype}}, accumulator);
  const DenseOperand grid = rows.Read(*p.grid);
  const std::int64_t points = p.images * p.out_height * p.out_width;
  const auto launch = [&](const char* entry, std::int64_t items, const auto&... operands) {
    rows.LaunchItems(entry, items, operands..., p.images, p.channels, p.height, p.width,
                     p.out_height, p.out_width, p.nearest, static_cast<std::int32_t>(p.padding),
                     p.corners);
  };
  if (!p.backward) {
    const DenseOperand image = rows.Read(*p.image);
    const DenseOperand out = rows.Write(*p.out);
    launch("sample", points, image, grid, out);
    return;
  }
  const DenseOperand grad = rows.Read(*p.out);
  if (p.image_grad != nullptr) {
    const DenseOperand sums = rows.Scratch(Count(*p.image) * SizeOf(accumulator));
    const DenseOperand to = rows.Write(*p.image_grad);
    launch("image_grad", p.images * p.channels, grid, grad, sums, to);
  }
  if (p.grid_grad != nullptr) {
    const DenseOperand image = rows.Read(*p.image);
    const DenseOperand to = rows.Write(*p.grid_grad);
    launch("grid_grad", points, image, grid, grad, to);
  }
}

std::vector<OpCall> GridSampleSamples() {
  using enum DType;
  using samples::Bool, samples::Int;
  std::vector<OpCall> calls;
  const auto add = [&](samples::SampleTensors& t, const TensorDesc& image, const Dims& grid,
                       int mode, int padding, bool corners, bool of_grid) {
    const auto like = [&](const Dims& shape) { return Value{t.Tensor(image.dtype, shape)}; };
    const Value points = like(grid);
    const Value out = like({image.shape[0], image.shape[1], grid[1], grid[2]});
    calls.push_back({"aten::grid_sampler_2d",
                     {{image}, points, Int(mode), Int(padding), Bool(corners)},
                     {out}});
    calls.push_back({"aten::grid_sampler_2d_backward",
                     {out,
                      {image},
                      points,
                      Int(mode),
                      Int(padding),
                      Bool(corners),
                      Value{ValueList{Bool(true), Bool(of_grid)}}},
                     {like(image.shape), of_grid ? like(grid) : samples::None()}});
  };
  for (int way = 0; way < 12; ++way) {
    samples::SampleTensors t;
    add(t, t.Tensor(kFloat32, {2, 3, 5, 7}), {2, 4, 6, 2}, way % 2, way / 2 % 3, way >= 6, true);
  }
  for (const DType dtype : {kFloat64, kFloat16, kBFloat16}) {
    samples::SampleTensors t;
    add(t, t.Tensor(dtype, {2, 3, 5, 7}), {2, 4, 6, 2}, 0, 0, false, true);
  }
  samples::SampleTensors t;  // by channels, one pixel, no image, no gradient of the grid
  add(t, t.Strided(kFloat32, {2, 3, 4, 4}, {48, 1, 12, 3}), {2, 3, 3, 2}, 0, 2, true, false);
  samples::SampleTensors one;
  add(one, one.Tensor(kFloat32, {1, 1, 1, 1}), {1, 1, 1, 2}, 0, 2, false, true);
  samples::SampleTensors none;
  add(none, none.Tensor(kFloat32, {0, 2, 3, 3}), {0, 2, 2, 2}, 0, 0, false, true);
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeGridSample() {
  return MakeParsedKernel(
      {"grid_sample", "grid_sample.cl", GridSampleSamples},
      CallForm<GridSampleCall>{ParseGridSample, ReferenceGridSample, LowerGridSample});
}

}  // namespace reprise
