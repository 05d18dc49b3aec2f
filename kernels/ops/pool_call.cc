#include "kernels/ops/pool_call.h"

#include <algorithm>
#include <limits>

#include "kernels/lowering.h"

namespace reprise {
namespace {

// Where each operator has its arguments; -1: it has no such argument.
struct PoolLayout {
  std::string_view name;
  PoolCall::Kind kind;
  bool backward;
  int kernel, stride, padding, dilation, count_padding, divisor;
  int index = -1;  // backward: where the largest were
  bool adaptive = false;
};
using PoolKind = PoolCall::Kind;
constexpr std::array kPoolLayouts = {
    // (self, kernel_size, stride, padding, dilation, ceil_mode) -> output, indices
    PoolLayout{"aten::max_pool2d_with_indices", PoolKind::kMax, false, 1, 2, 3, 4, -1, -1},
    // (grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices)
    PoolLayout{"aten::max_pool2d_with_indices_backward", PoolKind::kMax, true, 2, 3, 4, 5, -1, -1,
               7},
    // (self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    PoolLayout{"aten::avg_pool2d", PoolKind::kAverage, false, 1, 2, 3, -1, 5, 6},
    // (grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    //  divisor_override)
    PoolLayout{"aten::avg_pool2d_backward", PoolKind::kAverage, true, 2, 3, 4, -1, 6, 7},
    // (self, output_size)
    PoolLayout{"aten::_adaptive_avg_pool2d", PoolKind::kAverage, false, -1, -1, -1, -1, -1, -1, -1,
               true},
    // (grad_output, self)
    PoolLayout{"aten::_adaptive_avg_pool2d_backward", PoolKind::kAverage, true, -1, -1, -1, -1, -1,
               -1, -1, true},
    // (self, output_size) -> output, indices
    PoolLayout{"aten::adaptive_max_pool2d", PoolKind::kMax, false, -1, -1, -1, -1, -1, -1, -1,
               true},
    // (grad_output, self, indices)
    PoolLayout{"aten::adaptive_max_pool2d_backward", PoolKind::kMax, true, -1, -1, -1, -1, -1, -1,
               2, true},
};
constexpr auto kPoolNames = [] {
  std::array<std::string_view, kPoolLayouts.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kPoolLayouts[i].name;
  }
  return names;
}();

// Two numbers, or one for both; `absent` where there are none.
PoolCall::Pair PoolPairOf(const OpCall& call, int i, const PoolCall::Pair& absent) {
  const auto values =
      i < 0 ? std::vector<std::int64_t>() : call.InputInts(static_cast<std::size_t>(i));
  if (values.empty()) {
    return absent;
  }
  return {values.front(), values.back()};
}

std::int64_t IntOf(const OpCall& call, int i, std::int64_t absent) {
  const auto at = static_cast<std::size_t>(i);
  return i >= 0 && at < call.inputs.size() ? call.inputs[at].AsNumber<std::int64_t>(absent)
                                           : absent;
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

std::span<const std::string_view> PoolOperators() { return kPoolNames; }

std::optional<PoolCall> ParsePool(const OpCall& call) {
  const auto layout = std::find_if(kPoolLayouts.begin(), kPoolLayouts.end(),
                                   [&](const PoolLayout& l) { return l.name == call.name; });
  if (layout == kPoolLayouts.end()) {
    return std::nullopt;
  }
  PoolCall p;
  p.kind = layout->kind;
  p.adaptive = layout->adaptive;
  p.backward = layout->backward;
  p.kernel = PoolPairOf(call, layout->kernel, {1, 1});
  p.stride = PoolPairOf(call, layout->stride, p.kernel);
  p.padding = PoolPairOf(call, layout->padding, {0, 0});
  p.dilation = PoolPairOf(call, layout->dilation, {1, 1});
  p.count_padding = IntOf(call, layout->count_padding, 1) != 0;
  p.divisor = IntOf(call, layout->divisor, 0);
  const auto input = Images(p.backward ? call.OutputTensor(0) : call.InputTensor(0));
  const auto output = Images(p.backward ? call.InputTensor(0) : call.OutputTensor(0));
  if (!input || !output || input->tensor->dtype != output->tensor->dtype ||
      !IsFloating(input->tensor->dtype) || !IsKernelType(input->tensor->dtype)) {
    return std::nullopt;
  }
  p.input = *input;
  p.output = *output;
  if (p.kind == PoolKind::kMax) {
    const auto index = Images(p.backward ? call.InputTensor(static_cast<std::size_t>(layout->index))
                                         : call.OutputTensor(1));
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
