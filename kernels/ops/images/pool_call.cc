#include "kernels/ops/images/pool_call.h"

#include <algorithm>
#include <limits>

#include "core/operator_arguments.h"
#include "kernels/device_lowering.h"

namespace reprise {
namespace {

// Two numbers, or one for both; `absent` where there are none.
PoolCall::Pair PoolPairOf(const OpCall& call, std::string_view key, const PoolCall::Pair& absent) {
  const auto values = ArgumentPlaces::Of(call.name).Ints(call, key);
  if (values.empty()) {
    return absent;
  }
  return {values.front(), values.back()};
}

std::optional<PoolTensor> Images(const TensorDesc* t) {
  if (t == nullptr || (t->shape.size() != 3 && t->shape.size() != 4)) {
    return std::nullopt;
  }
  const auto& s = t->strides;
  return t->shape.size() == 4 ? PoolTensor{t, {s[0], s[1], s[2], s[3]}}
                              : PoolTensor{t, {0, s[0], s[1], s[2]}};
}

bool SetSizes(PoolCall& p) {
  const auto& in = p.input.tensor->shape;
  const auto& out = p.output.tensor->shape;
  const std::size_t first = in.size() - 3;  // the channels
  if (in.size() != out.size() || in[first] != out[first] || (first == 1 && in[0] != out[0])) {
    return false;
  }
  p.images = first == 1 ? in[0] : 1;
  p.channels = in[first];
  for (std::size_t d = 0; d < 2; ++d) {
    p.in_size[d] = in[first + 1 + d];
    p.out_size[d] = out[first + 1 + d];
    if (p.in_size[d] < 1 || p.out_size[d] < 1 || p.kernel[d] < 1 || p.stride[d] < 1 ||
        p.dilation[d] < 1 || p.padding[d] < 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

PoolCall::Window PoolCall::WindowOf(std::size_t d, std::int64_t o) const {
  if (adaptive) {
    return {o * in_size[d] / out_size[d], ((o + 1) * in_size[d] + out_size[d] - 1) / out_size[d]};
  }
  const std::int64_t begin = o * stride[d] - padding[d];
  return {begin, std::min(begin + (kernel[d] - 1) * dilation[d] + 1, in_size[d] + padding[d])};
}

double PoolCall::DivisorOf(std::int64_t oy, std::int64_t ox) const {
  if (divisor != 0) {
    return static_cast<double>(divisor);
  }
  Window y = WindowOf(0, oy);
  Window x = WindowOf(1, ox);
  if (!count_padding) {
    y = {std::max<std::int64_t>(y.begin, 0), std::min(y.end, in_size[0])};
    x = {std::max<std::int64_t>(x.begin, 0), std::min(x.end, in_size[1])};
  }
  return static_cast<double>(std::max<std::int64_t>(1, (y.end - y.begin) * (x.end - x.begin)));
}

std::optional<PoolCall> ParsePool(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  if (!places.Has("max") && !places.Has("average")) {
    return std::nullopt;
  }
  PoolCall p;
  p.kind = places.Has("max") ? PoolCall::Kind::kMax : PoolCall::Kind::kAverage;
  p.adaptive = places.Has("adaptive");
  p.backward = places.Has("grad");
  p.kernel = PoolPairOf(call, "kernel", {1, 1});
  p.stride = PoolPairOf(call, "stride", p.kernel);
  p.padding = PoolPairOf(call, "padding", {0, 0});
  p.dilation = PoolPairOf(call, "dilation", {1, 1});
  p.count_padding = places.Number(call, "count_padding", 1) != 0;
  p.divisor = static_cast<std::int64_t>(places.Number(call, "divisor", 0));
  const auto input = Images(p.backward ? call.OutputTensor(0) : call.InputTensor(0));
  const auto output = Images(p.backward ? call.InputTensor(0) : call.OutputTensor(0));
  if (!input || !output || input->tensor->dtype != output->tensor->dtype ||
      !IsFloating(input->tensor->dtype) || !IsKernelType(input->tensor->dtype)) {
    return std::nullopt;
  }
  p.input = *input;
  p.output = *output;
  if (p.kind == PoolCall::Kind::kMax) {
    const auto index = Images(p.backward ? places.Tensor(call, "index") : call.OutputTensor(1));
    if (!index || index->tensor->dtype != DType::kInt64 ||
        index->tensor->shape != p.output.tensor->shape) {
      return std::nullopt;
    }
    p.index = *index;
  }
  for (const PoolTensor* t :
       {&p.input, &p.output, &p.index}) {  // the kernels' offsets have 31 bits
    if (t->tensor != nullptr &&
        ExtentElements(*t->tensor) > std::numeric_limits<std::int32_t>::max()) {
      return std::nullopt;
    }
  }
  return SetSizes(p) ? std::optional(p) : std::nullopt;
}

}  // namespace reprise
