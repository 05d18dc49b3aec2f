// Rules of InferResults: a function for each family of operators. Which operator follows which rule
// is the column `result` of core/operators.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "converters/pytorch/results/infer_results.h"
#include "core/value.h"

namespace reprise::pytorch {

using Results = std::optional<ValueList>;

// Arguments by position; nothing where they are absent or of another kind.
class CallInputs {
 public:
  explicit CallInputs(const RecordedCall& call) : call_(call) {}
  [[nodiscard]] std::string_view name() const { return call_.name; }
  [[nodiscard]] std::size_t size() const { return call_.inputs.size(); }
  [[nodiscard]] bool on_gpu() const { return call_.on_gpu; }
  [[nodiscard]] const Value& operator[](std::size_t i) const { return call_.inputs[i]; }
  // Of a known element type and rank.
  [[nodiscard]] const TensorDesc* Tensor(std::size_t i) const;
  // As Tensor. Null as well if the tensor is not contiguous.
  [[nodiscard]] const TensorDesc* ContiguousTensor(std::size_t i) const;
  // None, or an undefined tensor. Kineto hides strings and lists of optional tensors in the same
  // way: a rule may ask only where the schema has neither.
  [[nodiscard]] bool Absent(std::size_t i) const;
  [[nodiscard]] bool IsNumber(std::size_t i) const;
  [[nodiscard]] std::optional<std::int64_t> Integer(std::size_t i) const;
  [[nodiscard]] std::optional<bool> Flag(std::size_t i) const;
  // A list of integers or booleans; one integer as a list of one.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> Integers(std::size_t i) const;

 private:
  const RecordedCall& call_;
};

using ResultRule = Results (*)(const CallInputs& in);

// One result of an operator with `arity` arguments; one argument more is the out= tensor, which is
// then the result if its shape needed no change. Nothing if `result` is nothing.
[[nodiscard]] Results One(const CallInputs& in, std::size_t arity,
                          std::optional<TensorDesc> result);
// Several; none of these operators is used with out=.
[[nodiscard]] Results Several(std::initializer_list<std::optional<TensorDesc>> results);
// `mask` has a boolean for each result: None where it is false. Nothing if a result that it asks
// for is unknown.
[[nodiscard]] Results Masked(const std::optional<std::vector<std::int64_t>>& mask,
                             std::initializer_list<std::optional<TensorDesc>> results);

// result_gemm.cc
Results MatrixProduct(const CallInputs& in);  // mm, bmm, mv, dot (a, b)
Results AddedMatrixProduct(
    const CallInputs& in);                       // addmm, baddbmm, addmv (self, a, b, beta, alpha)
Results ActivatedProduct(const CallInputs& in);  // _addmm_activation
// result_conv.cc
Results CudnnConvolution(const CallInputs& in);   // (x, w, padding, stride, dilation, groups, …)
Results BiasedConvolution(const CallInputs& in);  // miopen's and mkldnn's: a bias after w
Results GenericConvolution(const CallInputs& in);
Results ConvolutionBackward(const CallInputs& in);
// result_pool.cc
Results MaxPool2d(const CallInputs& in);
Results AveragePool2d(const CallInputs& in);
Results AdaptivePool2d(const CallInputs& in);
Results PoolBackward(const CallInputs& in);
Results Upsample(const CallInputs& in);
// result_norm.cc
Results BatchNorm(const CallInputs& in);
Results NativeBatchNormBackward(const CallInputs& in);
Results LibraryBatchNormBackward(const CallInputs& in);
Results LayerNorm(const CallInputs& in);
Results LayerNormBackward(const CallInputs& in);
Results GroupNorm(const CallInputs& in);
Results GroupNormBackward(const CallInputs& in);
Results RmsNorm(const CallInputs& in);
Results RmsNormBackward(const CallInputs& in);
// result_elementwise.cc
Results UnarySame(const CallInputs& in);
Results UnaryFloat(const CallInputs& in);
Results UnaryBool(const CallInputs& in);
Results Activation(const CallInputs& in);  // x and parameters: numbers or None
Results Gelu(const CallInputs& in);        // (x, approximate): text
Results Binary(const CallInputs& in);
Results BinaryFloat(const CallInputs& in);  // integers would give the default type
Results BinaryBool(const CallInputs& in);
Results BinaryScaled(const CallInputs& in);  // (a, b, alpha)
Results Ternary(const CallInputs& in);       // (self, a, b, value)
Results Lerp(const CallInputs& in);
Results Where(const CallInputs& in);
Results Clamp(const CallInputs& in);
Results MaskedFill(const CallInputs& in);
Results GradientOf(const CallInputs& in);  // (grad, x, parameters…), element by element
Results Dropout(const CallInputs& in);
Results DropoutBackward(const CallInputs& in);
// result_reduction.cc
Results Sum(const CallInputs& in);
Results Mean(const CallInputs& in);
Results Product(const CallInputs& in);
Results Extremum(const CallInputs& in);      // max, min: of all, along a dimension, of two tensors
Results ExtremumOver(const CallInputs& in);  // amax, amin
Results ExtremumIndex(const CallInputs& in);
Results Truth(const CallInputs& in);  // any, all
Results VectorNorm(const CallInputs& in);
Results Norm(const CallInputs& in);
Results Variance(const CallInputs& in);
Results LogSumExp(const CallInputs& in);
Results Scan(const CallInputs& in);
Results Sort(const CallInputs& in);
Results TopK(const CallInputs& in);
// result_softmax.cc
Results Softmax(const CallInputs& in);
Results SoftmaxBackward(const CallInputs& in);
Results NllLoss(const CallInputs& in);
Results NllLossBackward(const CallInputs& in);
Results PointwiseLoss(const CallInputs& in);          // (x, target, reduction)
Results PointwiseLossBackward(const CallInputs& in);  // (grad, x, target, reduction)
// result_moves.cc
Results IndexSelect(const CallInputs& in);
Results Gather(const CallInputs& in);
Results Scatter(const CallInputs& in);  // (x, dim, index, source)
Results Embedding(const CallInputs& in);
Results EmbeddingBackward(const CallInputs& in);
Results Triangle(const CallInputs& in);
Results Pad(const CallInputs& in);
Results Repeat(const CallInputs& in);
Results Glu(const CallInputs& in);
Results GluBackward(const CallInputs& in);
// result_attention.cc
Results FlashAttention(const CallInputs& in);
Results FlashAttentionBackward(const CallInputs& in);
Results EfficientAttention(const CallInputs& in);
Results EfficientAttentionBackward(const CallInputs& in);
Results CpuAttention(const CallInputs& in);
Results CpuAttentionBackward(const CallInputs& in);

}  // namespace reprise::pytorch
