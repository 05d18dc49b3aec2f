// Operators of models: each writes its forward nodes and leaves an entry for its backward ones.
// Names, arguments and the order of nodes are PyTorch 2's, as captures have them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "predict/workload/builder.h"

namespace reprise {

// x (…, k) by weight (n, k), as torch.nn.functional.linear: (…, n). `column`: the weight's gradient
// may be computed beside the transfer of the input's gradient (overlap "tp").
Var Linear(Builder& b, const Var& x, Parameter& weight, Parameter* bias, bool column = false);
// The same without a bias, by `parts` groups of the weight's rows: `each` gets the number and the
// columns of the result, a view of it, before the next are computed.
Var LinearInParts(Builder& b, const Var& x, Parameter& weight, std::int64_t parts,
                  const std::function<void(std::int64_t part, const TensorDesc& columns)>& each);
// x (batch, m, k) by y (batch, k, n), and, unless it is 0, by a scale (baddbmm's alpha); `added`,
// if there is one, broadcasts to the result.
Var BatchedProduct(Builder& b, const Var& x, const Var& y, double scale = 0,
                   const TensorDesc* added = nullptr);
// Rows of x (rows, k), group by group, by weight (groups, n, k): (rows, n). `ends`: where each
// group ends.
Var GroupedLinear(Builder& b, const Var& x, Parameter& weight, const TensorDesc& ends);

// Gradients of a grouped product's input and weight; the weight's may be delayed.
std::vector<Grad> WithGroupedGradient(Builder& b, const TensorDesc& input, Parameter& parameter,
                                      const std::function<TensorDesc()>& of_weight);

Var LayerNorm(Builder& b, const Var& x, Parameter& weight, Parameter& bias);
// With neither weight nor bias.
Var PlainLayerNorm(Builder& b, const Var& x);
Var RmsNorm(Builder& b, const Var& x, Parameter& weight);

// The same shape, or y's broadcasts to x's.
Var Add(Builder& b, const Var& x, const Var& y);
// By y, whose last dimension has size 1.
Var Divide(Builder& b, const Var& x, const Var& y);
Var SumOver(Builder& b, const Var& x, std::int64_t dim);
Var Multiply(Builder& b, const Var& x, const Var& y);
Var Gelu(Builder& b, const Var& x);
Var Silu(Builder& b, const Var& x);
Var Relu(Builder& b, const Var& x);
Var Square(Builder& b, const Var& x);
// x between two bounds.
Var Clamp(Builder& b, const Var& x, double least, double most);
Var AddNumber(Builder& b, const Var& x, double number);
Var MultiplyNumber(Builder& b, const Var& x, double number);
Var Sigmoid(Builder& b, const Var& x);
// Between the two matrices of a feed-forward block, as the model has it. The halves of a gated
// block are its gate and what that multiplies.
Var Activation(Builder& b, const Var& up);
// Of the two halves.
Var GatedActivation(Builder& b, const Var& first, const Var& second);
// x unchanged if p is 0.
Var Dropout(Builder& b, const Var& x, double p);
// Of the last dimension, in the type of x.
Var Softmax(Builder& b, const Var& x);
// The logarithm of softmax, over rows of float32.
Var LogSoftmax(Builder& b, const Var& x);
// Scores that a position may not see get -inf. `mask` is (s, s) booleans.
Var MaskedFill(Builder& b, const Var& x, const TensorDesc& mask);
Var ToType(Builder& b, const Var& x, DType dtype);

// A dense tensor, or one whose last dimension is divided.
Var View(Builder& b, const Var& x, const std::vector<std::int64_t>& shape,
         std::string_view parent = {});
Var Transpose(Builder& b, const Var& x, std::int64_t first, std::int64_t second);
Var Permute(Builder& b, const Var& x, const std::vector<std::int64_t>& order);
// Elements [start, end) of a dimension.
Var Slice(Builder& b, const Var& x, std::int64_t dim, std::int64_t start, std::int64_t end);
// Equal parts of the last dimension, or parts of these sizes.
std::vector<Var> Split(Builder& b, const Var& x, const std::vector<std::int64_t>& sizes);
Var Contiguous(Builder& b, const Var& x);
// Dimensions of size 1 in others.
Var Expand(Builder& b, const Var& x, const std::vector<std::int64_t>& shape);
Var Concatenate(Builder& b, const std::vector<Var>& parts, std::int64_t dim);

// weight (rows, width) by ids (…): (…, width).
Var Embedding(Builder& b, Parameter& weight, const TensorDesc& ids);
// Sums of `lookups` rows: ids (n · lookups), offsets (n); (n, width).
Var EmbeddingBag(Builder& b, Parameter& weight, const TensorDesc& ids, const TensorDesc& offsets);
// Images (n, c, side, side) by weight (h, c, patch, patch) with stride patch: (n, h, …).
Var PatchConvolution(Builder& b, const TensorDesc& images, Parameter& weight, Parameter& bias);
// Mean loss of logits (n, classes) against labels (n). The head's logits are in their own type;
// the loss is float32.
Var CrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels);
// In float32.
Var MeanSquaredError(Builder& b, const Var& x, const TensorDesc& target);
Var BinaryCrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels);
// Rotary positions of queries or keys (…, features).
Var Rotary(Builder& b, const Var& x, const TensorDesc& cosines, const TensorDesc& sines);

// Attention of queries (batch, heads, s, d) to keys and values (batch, kv heads, s', d): (batch,
// heads, s, d), its memory in the order of `tokens_first` dimensions.
struct AttentionResult {
  TensorDesc out, lse;
};
// What a query sees.
struct AttentionKind {
  bool causal = true;
  std::int64_t window = 0;     // tokens, its own among them; 0: all; causal only
  Parameter* sinks = nullptr;  // null: none
  // The last query and key are aligned; else the first ones. Of fewer queries than keys.
  bool by_last = false;
  bool packed = false;  // Workload::documents, in a batch of one sequence
};
Var FusedAttention(Builder& b, const Var& q, const Var& k, const Var& v, const AttentionKind& kind);
// Its two halves, for attention in parts.
AttentionResult FusedAttentionForward(Builder& b, const TensorDesc& q, const TensorDesc& k,
                                      const TensorDesc& v, const AttentionKind& kind);
std::vector<TensorDesc> FusedAttentionBackward(Builder& b, const TensorDesc& gradient,
                                               const TensorDesc& q, const TensorDesc& k,
                                               const TensorDesc& v, const AttentionResult& forward,
                                               const AttentionKind& kind);
// Dense, with dimensions in the order that t has in memory: what empty_like makes.
TensorDesc DenseLike(Builder& b, const TensorDesc& t);
// The strides of a tensor seen with another shape; nothing: only a copy can have it.
[[nodiscard]] std::optional<std::vector<std::int64_t>> StridesOfView(
    const TensorDesc& x, const std::vector<std::int64_t>& shape);
// Scores, softmax, dropout and their product with the values, each written to memory. With alibi
// the product of queries and keys is added to a bias.
Var UnfusedAttention(Builder& b, const Var& q, const Var& k, const Var& v,
                     const AttentionKind& kind);

}  // namespace reprise
