// Resampling of images, nearest, linear and cubic: kernels/ops/images/upsample.cl.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// How an output pixel is made; the same numbers in upsample.cl.
enum class UpsampleMode : std::int32_t { kNearest, kNearestExact, kLinear, kCubic };

// Which input pixels along one dimension: `count` of them, with weights.
struct UpsampleTaps {
  std::array<std::int64_t, 4> at = {};
  std::array<double, 4> weight = {1, 0, 0, 0};
  std::size_t count = 1;
};

struct UpsampleCall {
  bool backward = false, corners = false;
  UpsampleMode mode = UpsampleMode::kNearest;
  const TensorDesc* in = nullptr;   // backward: the gradient that is written
  const TensorDesc* out = nullptr;  // backward: the gradient that is read
  std::int64_t planes = 0;
  std::array<std::int64_t, 2> in_size = {}, out_size = {};  // y, x
  std::array<float, 2> factor = {};  // input pixels for each output pixel; 0: by the sizes

  [[nodiscard]] UpsampleTaps TapsOf(std::size_t d, std::int64_t o) const;
  [[nodiscard]] std::int64_t NearestOf(std::size_t d, std::int64_t o) const;
};

// In float for every type, as PyTorch does.
std::int64_t UpsampleCall::NearestOf(std::size_t d, std::int64_t o) const {
  const std::int64_t in_n = in_size[d];
  const std::int64_t out_n = out_size[d];
  const float scale =
      factor[d] > 0 ? factor[d] : static_cast<float>(in_n) / static_cast<float>(out_n);
  const float place = static_cast<float>(o) + (mode == UpsampleMode::kNearestExact ? 0.5F : 0.0F);
  const auto at = std::min(static_cast<std::int64_t>(std::floor(place * scale)), in_n - 1);
  if (mode == UpsampleMode::kNearestExact) {
    return at;
  }
  return out_n == in_n ? o : out_n == 2 * in_n ? o / 2 : at;
}

// Keys' cubic with a = -0.75, of the two pixels nearby and of the two further away.
double NearWeight(double x) { return (1.25 * x - 2.25) * x * x + 1; }
double FarWeight(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

// As in upsample.cl.
UpsampleTaps UpsampleCall::TapsOf(std::size_t d, std::int64_t o) const {
  const std::int64_t in_n = in_size[d];
  const std::int64_t out_n = out_size[d];
  if (mode == UpsampleMode::kNearest || mode == UpsampleMode::kNearestExact) {
    return {.at = {NearestOf(d, o)}};
  }
  const double by_corners =
      out_n > 1 ? static_cast<double>(in_n - 1) / static_cast<double>(out_n - 1) : 0;
  const double by_sizes =
      factor[d] > 0 ? factor[d] : static_cast<double>(in_n) / static_cast<double>(out_n);
  const auto index = static_cast<double>(o);
  const double place = corners ? index * by_corners : by_sizes * (index + 0.5) - 0.5;
  if (mode == UpsampleMode::kLinear) {
    const double inside = std::max(place, 0.0);
    const std::int64_t first = std::min(static_cast<std::int64_t>(inside), in_n - 1);
    const double w = std::clamp(inside - static_cast<double>(first), 0.0, 1.0);
    return {{first, std::min(first + 1, in_n - 1)}, {1 - w, w}, 2};
  }
  const double below = std::floor(place);
  const double w = place - below;
  UpsampleTaps taps{
      .weight = {FarWeight(1 + w), NearWeight(w), NearWeight(1 - w), FarWeight(2 - w)}, .count = 4};
  for (std::size_t k = 0; k < taps.count; ++k) {
    const auto at = static_cast<std::int64_t>(below) + static_cast<std::int64_t>(k) - 1;
    taps.at[k] = std::clamp<std::int64_t>(at, 0, in_n - 1);
  }
  return taps;
}

// The reciprocal of the scale that the call names for y or x: two numbers, or (vec overloads) a
// list of them.
float FactorOf(const OpCall& call, std::size_t first, std::size_t d, std::size_t dims) {
  const ValueList* list = call.Argument(first).AsList();
  const std::size_t own = dims == 1 ? 0 : d;
  const Value& value = list == nullptr      ? call.Argument(first + own)
                       : own < list->size() ? (*list)[own]
                                            : Value{};
  const double scale = NumberOr(value, 0);
  return scale > 0 ? static_cast<float>(1 / scale) : 0;
}

bool SetSizes(UpsampleCall& p) {
  if (p.in == nullptr || p.out == nullptr || Rank(*p.in) != Rank(*p.out) ||
      p.in->dtype != p.out->dtype || !IsFloatKernelType(p.in->dtype) ||
      p.in->shape[0] != p.out->shape[0] || p.in->shape[1] != p.out->shape[1]) {
    return false;
  }
  const bool lines = Rank(*p.in) == 3;
  p.planes = p.in->shape[0] * p.in->shape[1];
  p.in_size = {lines ? 1 : p.in->shape[2], p.in->shape.back()};
  p.out_size = {lines ? 1 : p.out->shape[2], p.out->shape.back()};
  return std::min({p.in_size[0], p.in_size[1], p.out_size[0], p.out_size[1]}) > 0;
}

// upsample_nearest2d(self, output_size, scales_h, scales_w), or (input, output_size, scale_factors)
// upsample_bilinear2d(self, output_size, align_corners, scales…)
// …_backward(grad_output, output_size, input_size, [align_corners,] scales…)
std::optional<UpsampleCall> ParseUpsample(const OpCall& call) {
  UpsampleCall p;
  p.backward = call.name.ends_with("_backward");
  const auto is = [&](std::string_view name) { return call.name.starts_with(name); };
  p.mode = is("aten::upsample_bicubic")                                   ? UpsampleMode::kCubic
           : is("aten::upsample_bilinear") || is("aten::upsample_linear") ? UpsampleMode::kLinear
           : is("aten::_upsample_nearest_exact") ? UpsampleMode::kNearestExact
                                                 : UpsampleMode::kNearest;
  p.in = p.backward ? call.OutputTensor(0) : call.InputTensor(0);
  p.out = p.backward ? call.InputTensor(0) : call.OutputTensor(0);
  const bool lines = call.name.find("1d") != std::string::npos;
  if (p.in == nullptr || Rank(*p.in) != (lines ? 3 : 4) || !SetSizes(p)) {
    return std::nullopt;
  }
  std::size_t next = p.backward ? 3 : 2;
  if (p.mode == UpsampleMode::kLinear || p.mode == UpsampleMode::kCubic) {
    p.corners = TruthOr(call.Argument(next++), false);
  }
  for (std::size_t d = 0; d < 2; ++d) {
    p.factor[d] = FactorOf(call, next, d, lines ? 1 : 2);
  }
  return p;
}

Status ReferenceUpsample(const UpsampleCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(Doubles from, ReadDoubles(p.backward ? *p.out : *p.in, memory));
  const TensorDesc& target = p.backward ? *p.in : *p.out;
  Doubles to(static_cast<std::size_t>(Count(target)), 0);
  for (std::int64_t row = 0; row < p.planes * p.out_size[0]; ++row) {
    const UpsampleTaps y = p.TapsOf(0, row % p.out_size[0]);
    const std::int64_t plane = row / p.out_size[0] * p.in_size[0];
    for (std::int64_t ox = 0; ox < p.out_size[1]; ++ox) {
      const UpsampleTaps x = p.TapsOf(1, ox);
      const auto out = static_cast<std::size_t>(row * p.out_size[1] + ox);
      for (std::size_t k = 0; k < y.count * x.count; ++k) {
        const std::size_t j = k / x.count;
        const std::size_t i = k % x.count;
        const auto in = static_cast<std::size_t>((plane + y.at[j]) * p.in_size[1] + x.at[i]);
        to[p.backward ? in : out] += y.weight[j] * x.weight[i] * from[p.backward ? out : in];
      }
    }
  }
  return WriteDoubles(target, memory, to);
}

void LowerUpsample(const UpsampleCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.in->dtype}}, AccumulatorOf(p.in->dtype));
  const DenseOperand in = rows.ReadOrWrite(*p.in, p.backward);
  const DenseOperand out = rows.ReadOrWrite(*p.out, !p.backward);
  const std::int64_t items = p.backward ? Count(*p.in) : p.planes * p.out_size[0];
  rows.LaunchItems(p.backward ? "resample_grad" : "resample", items, in, out, p.planes,
                   p.in_size[0], p.in_size[1], p.out_size[0], p.out_size[1], p.factor[0],
                   p.factor[1], static_cast<std::int32_t>(p.mode), p.corners);
}

std::vector<OpCall> UpsampleSamples() {
  using samples::Bool, samples::Double, samples::Ints, samples::None;
  std::vector<OpCall> calls;
  const Value none = None();
  // The operator and its backward; `rest` is what both have behind the sizes.
  const auto both = [&](const std::string& name, const TensorDesc& in, const TensorDesc& out,
                        const ValueList& rest) {
    const Value size = Ints(Dims(out.shape.begin() + 2, out.shape.end()));
    OpCall forward{name, {{in}, size}, {{out}}};
    OpCall backward{name + "_backward", {{out}, size, Ints(in.shape)}, {{in}}};
    for (OpCall* call : {&forward, &backward}) {
      call->inputs.insert(call->inputs.end(), rest.begin(), rest.end());
      calls.push_back(*call);
    }
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    samples::SampleTensors t;
    const TensorDesc in = t.Strided(dtype, {2, 3, 7, 5}, {105, 1, 15, 3});
    const TensorDesc line = t.Tensor(dtype, {2, 3, 9});
    const TensorDesc long_line = t.Tensor(dtype, {2, 3, 20});
    both("aten::upsample_nearest1d", line, long_line, {none});
    both("aten::_upsample_nearest_exact1d", line, long_line, {Double(2.25)});
    both("aten::upsample_linear1d", line, long_line, {Bool(true), none});
    both("aten::upsample_linear1d", line, long_line, {Bool(false), none});
    // Twice as large, by sizes alone, smaller.
    for (const auto& [height, width] : {std::array{14, 10}, {11, 13}, {4, 3}, {1, 5}}) {
      const TensorDesc out = t.Tensor(dtype, {2, 3, height, width});
      for (const char* name : {"aten::upsample_nearest2d", "aten::_upsample_nearest_exact2d"}) {
        both(name, in, out, {none, none});
      }
      for (const char* name : {"aten::upsample_bilinear2d", "aten::upsample_bicubic2d"}) {
        both(name, in, out, {Bool(false), none, none});
        both(name, in, out, {Bool(true), none, none});
      }
    }
    const TensorDesc scaled = t.Tensor(dtype, {2, 3, 17, 8});
    const Value scales{ValueList{Double(2.5), Double(1.75)}};
    calls.push_back({"aten::upsample_nearest2d", {{in}, none, scales}, {{scaled}}});
    calls.push_back({"aten::upsample_bilinear2d", {{in}, none, Bool(false), scales}, {{scaled}}});
    calls.push_back({"aten::upsample_bicubic2d", {{in}, none, Bool(false), scales}, {{scaled}}});
    both("aten::upsample_bicubic2d", t.Tensor(dtype, {1, 1, 1, 1}), t.Tensor(dtype, {1, 1, 3, 3}),
         {Bool(false), none, none});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeUpsample() {
  return MakeParsedKernel({"upsample", "upsample.cl", UpsampleSamples},
                          CallForm<UpsampleCall>{ParseUpsample, ReferenceUpsample, LowerUpsample});
}

}  // namespace reprise
