// Pooling and resampling of images.

#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {
namespace {

// Both sides of a call between an image and its windows; backward, the gradients of both.
struct Sides {
  const TensorDesc* in;
  const TensorDesc* out;
};
std::optional<Sides> SidesOf(const OpCall& call, bool backward) {
  const Sides sides{backward ? call.OutputTensor(0) : call.InputTensor(0),
                    backward ? call.InputTensor(0) : call.OutputTensor(0)};
  const bool fits = sides.in != nullptr && sides.out != nullptr && sides.in->shape.size() >= 2 &&
                    sides.in->shape.size() == sides.out->shape.size();
  return fits ? std::optional(sides) : std::nullopt;
}

// Elements of all windows of an adaptive pooling along one dimension: window o goes from
// floor(o n / windows) to ceil((o + 1) n / windows), so that neighbours may share one.
double AdaptiveTaps(std::int64_t n, std::int64_t windows) {
  std::int64_t taps = 0;
  for (std::int64_t o = 0; o < windows; ++o) {
    taps += ((o + 1) * n + windows - 1) / windows - o * n / windows;
  }
  return static_cast<double>(taps);
}

// Elements of all windows, padding included.
double TapsOf(const OpCall& call, const ArgumentPlaces& places, const Sides& sides) {
  const std::size_t rank = sides.in->shape.size();
  if (!places.Has("adaptive")) {
    const auto kernel = places.Ints(call, "kernel");
    const std::int64_t taps = kernel.empty() ? 0 : kernel.front() * kernel.back();
    return Elements(sides.out) * static_cast<double>(taps);
  }
  double planes = 1;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    planes *= static_cast<double>(sides.out->shape[d]);
  }
  return planes * AdaptiveTaps(sides.in->shape[rank - 2], sides.out->shape[rank - 2]) *
         AdaptiveTaps(sides.in->shape[rank - 1], sides.out->shape[rank - 1]);
}

}  // namespace

// A comparison or an addition for each element of a window; a maximum's gradient goes to one.
std::optional<Cost> Pool(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const bool backward = places.Has("grad");
  const auto sides = SidesOf(call, backward);
  if (!sides) {
    return std::nullopt;
  }
  const TensorDesc* index = backward            ? places.Tensor(call, "index")
                            : places.Has("max") ? call.OutputTensor(1)
                                                : nullptr;
  const double flops =
      backward && places.Has("max") ? Elements(sides->out) : TapsOf(call, places, *sides);
  return Cost{flops, Bytes(sides->in) + Bytes(sides->out) + Bytes(index)};
}

// A multiply-add for each pixel that an output pixel is made of: 16 cubic, 4 bilinear, 2 linear.
// The nearest is copied, its gradient added. Places and weights are the same for whole rows.
std::optional<Cost> Upsample(const OpCall& call) {
  const auto sides = SidesOf(call, Backward(call));
  if (!sides) {
    return std::nullopt;
  }
  const auto is = [&](std::string_view part) { return call.name.find(part) != call.name.npos; };
  const double taps = is("bicubic") ? 16 : is("bilinear") ? 4 : is("linear1d") ? 2 : 0;
  const double flops = taps > 0 ? 2 * taps : Backward(call) ? 1 : 0;
  return Cost{flops * Elements(sides->out), Bytes(sides->in) + Bytes(sides->out)};
}

// For each element of the output, of four pixels: a multiply-add; the image's gradient the same;
// the grid's: the product with the gradient, a multiply-add for x and one for y. The nearest pixel
// is copied, its gradient added, and the grid's is zero. Places and weights are shared by channels.
std::optional<Cost> GridSample(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const bool backward = places.Has("grad");
  const TensorDesc* image = places.Tensor(call, "image");
  const TensorDesc* grid = places.Tensor(call, "grid");
  const TensorDesc* out = backward ? places.Tensor(call, "grad") : call.OutputTensor(0);
  if (image == nullptr || grid == nullptr || out == nullptr) {
    return std::nullopt;
  }
  const bool nearest = places.Number(call, "mode", 0) == 1;
  if (!backward) {
    return Cost{(nearest ? 0 : 8) * Elements(out), OperandBytes(call)};
  }
  const TensorDesc* of_image = call.OutputTensor(0);
  const TensorDesc* of_grid = call.OutputTensor(1);
  const double flops =
      (of_image != nullptr ? (nearest ? 1 : 8) : 0) + (of_grid != nullptr && !nearest ? 20 : 0);
  const bool reads_image = of_grid != nullptr && !nearest;
  return Cost{flops * Elements(out),
              Bytes(out) + Bytes(grid) + (reads_image ? Bytes(image) : 0) + ResultBytes(call)};
}

}  // namespace reprise::cost_rules
