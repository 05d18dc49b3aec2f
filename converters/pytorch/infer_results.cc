#include "converters/pytorch/infer_results.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "converters/pytorch/result_rules.h"

namespace reprise::pytorch {
namespace {

struct Family {
  ResultRule rule;
  std::initializer_list<std::string_view> operators;
};

// A line for each family. An operator may be here only if its rule holds for all overloads of its
// name: a capture has no overload, only arguments.
// clang-format off
const Family kFamilies[] = {
    {MatrixProduct, {"aten::mm", "aten::bmm", "aten::mv", "aten::dot", "aten::vdot"}},
    {AddedMatrixProduct, {"aten::addmm", "aten::baddbmm", "aten::addmv"}},
    {ActivatedProduct, {"aten::_addmm_activation"}},
    {CudnnConvolution, {"aten::cudnn_convolution"}},
    {BiasedConvolution, {"aten::miopen_convolution", "aten::mkldnn_convolution"}},
    {GenericConvolution, {"aten::convolution_overrideable"}},
    {ConvolutionBackward, {"aten::convolution_backward"}},
    {MaxPool2d, {"aten::max_pool2d_with_indices"}},
    {AveragePool2d, {"aten::avg_pool2d"}},
    {AdaptivePool2d, {"aten::_adaptive_avg_pool2d"}},
    {PoolBackward, {"aten::max_pool2d_with_indices_backward", "aten::avg_pool2d_backward", "aten::_adaptive_avg_pool2d_backward"}},
    {Upsample, {"aten::upsample_nearest2d", "aten::upsample_bilinear2d"}},
    {BatchNorm, {"aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm"}},
    {NativeBatchNormBackward, {"aten::native_batch_norm_backward"}},
    {LibraryBatchNormBackward, {"aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"}},
    {LayerNorm, {"aten::native_layer_norm"}},
    {LayerNormBackward, {"aten::native_layer_norm_backward"}},
    {GroupNorm, {"aten::native_group_norm"}},
    {GroupNormBackward, {"aten::native_group_norm_backward"}},
    {RmsNorm, {"aten::_fused_rms_norm"}},
    {RmsNormBackward, {"aten::_fused_rms_norm_backward"}},
    {UnarySame, {"aten::neg", "aten::abs", "aten::sign", "aten::sgn", "aten::relu", "aten::ceil", "aten::floor", "aten::round", "aten::trunc", "aten::frac", "aten::bitwise_not"}},
    {UnaryFloat, {"aten::sqrt", "aten::rsqrt", "aten::exp", "aten::exp2", "aten::expm1", "aten::log", "aten::log2", "aten::log10", "aten::log1p", "aten::reciprocal", "aten::sin", "aten::cos", "aten::tan", "aten::tanh", "aten::asin", "aten::acos", "aten::atan", "aten::sinh", "aten::cosh", "aten::erf", "aten::erfc", "aten::sigmoid", "aten::silu", "aten::mish", "aten::hardswish", "aten::hardsigmoid"}},
    {UnaryBool, {"aten::logical_not"}},
    {Activation, {"aten::leaky_relu", "aten::elu", "aten::hardtanh", "aten::softplus", "aten::threshold", "aten::nan_to_num"}},
    {Gelu, {"aten::gelu", "aten::gelu_backward"}},
    {Binary, {"aten::mul", "aten::minimum", "aten::maximum", "aten::fmin", "aten::fmax", "aten::remainder", "aten::fmod", "aten::pow", "aten::bitwise_and", "aten::bitwise_or", "aten::bitwise_xor", "aten::__and__", "aten::__or__"}},
    {BinaryFloat, {"aten::div", "aten::true_divide", "aten::atan2", "aten::hypot", "aten::copysign", "aten::xlogy"}},
    {BinaryBool, {"aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::logical_and", "aten::logical_or", "aten::logical_xor"}},
    {BinaryScaled, {"aten::add", "aten::sub", "aten::rsub"}},
    {Ternary, {"aten::addcmul", "aten::addcdiv"}},
    {Lerp, {"aten::lerp"}},
    {Where, {"aten::where"}},
    {Clamp, {"aten::clamp"}},
    {MaskedFill, {"aten::masked_fill"}},
    {GradientOf, {"aten::threshold_backward", "aten::leaky_relu_backward", "aten::hardtanh_backward", "aten::silu_backward", "aten::mish_backward", "aten::hardswish_backward", "aten::hardsigmoid_backward", "aten::sigmoid_backward", "aten::tanh_backward", "aten::softplus_backward"}},
    {Dropout, {"aten::native_dropout"}},
    {DropoutBackward, {"aten::native_dropout_backward"}},
    {Sum, {"aten::sum", "aten::nansum"}},
    {Mean, {"aten::mean"}},
    {Product, {"aten::prod"}},
    {Extremum, {"aten::max", "aten::min"}},
    {ExtremumOver, {"aten::amax", "aten::amin"}},
    {ExtremumIndex, {"aten::argmax", "aten::argmin"}},
    {Truth, {"aten::any", "aten::all"}},
    {VectorNorm, {"aten::linalg_vector_norm"}},
    {Norm, {"aten::norm"}},
    {Variance, {"aten::var", "aten::std", "aten::var_mean"}},
    {LogSumExp, {"aten::logsumexp"}},
    {Scan, {"aten::cumsum", "aten::cumprod"}},
    {Sort, {"aten::sort"}},
    {TopK, {"aten::topk"}},
    {Softmax, {"aten::_softmax", "aten::_log_softmax"}},
    {SoftmaxBackward, {"aten::_softmax_backward_data", "aten::_log_softmax_backward_data"}},
    {NllLoss, {"aten::nll_loss_forward", "aten::nll_loss2d_forward"}},
    {NllLossBackward, {"aten::nll_loss_backward", "aten::nll_loss2d_backward"}},
    {PointwiseLoss, {"aten::mse_loss"}},
    {PointwiseLossBackward, {"aten::mse_loss_backward"}},
    {IndexSelect, {"aten::index_select"}},
    {Gather, {"aten::gather"}},
    {Scatter, {"aten::scatter_add"}},
    {Embedding, {"aten::embedding"}},
    {EmbeddingBackward, {"aten::embedding_dense_backward"}},
    {Triangle, {"aten::tril", "aten::triu"}},
    {Pad, {"aten::constant_pad_nd"}},
    {Repeat, {"aten::repeat"}},
    {Glu, {"aten::glu"}},
    {GluBackward, {"aten::glu_backward"}},
    {FlashAttention, {"aten::_scaled_dot_product_flash_attention"}},
    {FlashAttentionBackward, {"aten::_scaled_dot_product_flash_attention_backward"}},
    {EfficientAttention, {"aten::_scaled_dot_product_efficient_attention"}},
    {EfficientAttentionBackward, {"aten::_scaled_dot_product_efficient_attention_backward"}},
    {CpuAttention, {"aten::_scaled_dot_product_flash_attention_for_cpu"}},
    {CpuAttentionBackward, {"aten::_scaled_dot_product_flash_attention_for_cpu_backward"}},
};
// clang-format on

const std::unordered_map<std::string_view, ResultRule>& Rules() {
  static const auto rules = [] {
    std::unordered_map<std::string_view, ResultRule> out;
    for (const Family& family : kFamilies) {
      for (const std::string_view name : family.operators) {
        out.emplace(name, family.rule);
      }
    }
    return out;
  }();
  return rules;
}

// In-place operations that give their argument another shape.
constexpr std::array<std::string_view, 11> kReshaping = {
    "aten::resize_", "aten::resize_as_", "aten::set_",      "aten::as_strided_",
    "aten::t_",      "aten::transpose_", "aten::squeeze_",  "aten::unsqueeze_",
    "aten::rename_", "aten::swapdims_",  "aten::swapaxes_",
};

// PyTorch's naming: what ends in one underscore returns its first argument. Those that take lists
// return nothing.
bool IsInPlace(std::string_view name) {
  return name.starts_with("aten::") && name.ends_with('_') && !name.ends_with("__") &&
         !name.starts_with("aten::_foreach_") && !name.starts_with("aten::_fused_") &&
         !name.starts_with("aten::_amp_") &&
         std::find(kReshaping.begin(), kReshaping.end(), name) == kReshaping.end();
}

}  // namespace

std::optional<ValueList> InferResults(const RecordedCall& call) {
  const CallInputs in(call);
  if (IsInPlace(call.name)) {
    const TensorDesc* self = in.Tensor(0);
    return self != nullptr ? Results(ValueList{{*self}}) : std::nullopt;
  }
  const auto rule = Rules().find(call.name);
  return rule == Rules().end() ? std::nullopt : rule->second(in);
}

std::span<const std::string_view> InferableOperators() {
  static const auto names = [] {
    std::vector<std::string_view> out;
    for (const Family& family : kFamilies) {
      out.insert(out.end(), family.operators.begin(), family.operators.end());
    }
    return out;
  }();
  return names;
}

}  // namespace reprise::pytorch
