#include "predict/workload/parallel/expert_gates.h"

#include <algorithm>

#include "predict/workload/ops/model_operators.h"

namespace reprise {
namespace {

// The largest top_k of each row; the gradient goes to where they were.
Var TopK(Builder& b, const Var& x, std::int64_t k, TensorDesc& indices) {
  b.Op();
  const TensorDesc values = b.out.New(x.tensor.dtype, {x.shape()[0], k});
  indices = b.out.New(DType::kInt64, {x.shape()[0], k});
  b.out.Work("aten::topk", Args(x.tensor, k, -1, true, true), Args(values, indices));
  const TensorDesc input = x.tensor;
  return b.Record("TopkBackward0", {x}, values, [&b, input, indices](const TensorDesc& gradient) {
    b.out.parent = "aten::value_selecting_reduction_backward";
    const TensorDesc dx = b.Zeros(input.dtype, input.shape);
    b.out.InPlace("aten::scatter_", dx, -1, indices, gradient);
    return Fresh(dx);
  });
}

// Values of x at `index` of the last dimension; the gradient is added there.
Var GatherLast(Builder& b, const Var& x, const TensorDesc& index) {
  b.Op();
  const TensorDesc result = b.out.Work("aten::gather", Args(x.tensor, -1, index, false),
                                       b.out.New(x.tensor.dtype, index.shape));
  const TensorDesc input = x.tensor;
  return b.Record("GatherBackward0", {x}, result, [&b, input, index](const TensorDesc& gradient) {
    const TensorDesc dx = b.Zeros(input.dtype, input.shape);
    b.out.InPlace("aten::scatter_add_", dx, -1, index, gradient);
    return Fresh(dx);
  });
}

// Of the experts' scores, each with its bias, those of the best groups; the others are zero. A
// group is as good as its two best (DeepSeek-V3, arXiv 2412.19437, section 2.1.2).
TensorDesc ScoresOfBestGroups(Builder& b, const TensorDesc& scores) {
  const ModelShape& m = b.model();
  const std::int64_t tokens = scores.shape[0];
  const std::int64_t groups = m.expert_groups;
  const auto top = [&b](const TensorDesc& x, std::int64_t k, TensorDesc& indices) {
    std::vector<std::int64_t> shape = x.shape;
    shape.back() = k;
    TensorDesc values = b.out.New(x.dtype, shape);
    indices = b.out.New(DType::kInt64, shape);
    b.out.Work("aten::topk", Args(x, k, -1, true, true), Args(values, indices));
    return values;
  };
  const TensorDesc of_groups = b.Shaped(scores, {tokens, groups, m.experts / groups});
  TensorDesc indices;
  const TensorDesc best = top(of_groups, std::min<std::int64_t>(2, m.experts / groups), indices);
  const TensorDesc sums = b.out.Work("aten::sum", Args(best, Ints{-1}, false, kNoValue),
                                     b.out.New(scores.dtype, {tokens, groups}));
  (void)top(sums, m.groups_per_token, indices);
  const TensorDesc mask = b.Zeros(scores.dtype, {tokens, groups});
  b.out.InPlace("aten::scatter_", mask, 1, indices, 1.0);
  const TensorDesc wide = b.out.Host(
      "aten::expand", Args(mask, Ints{tokens, groups, m.experts / groups}, false),
      b.out.Alias(mask, {tokens, groups, m.experts / groups}, {groups, 1, 0}, mask.offset));
  const TensorDesc kept =
      b.out.Work("aten::mul", Args(of_groups, wide), b.out.New(scores.dtype, of_groups.shape));
  return b.Shaped(kept, scores.shape);
}

}  // namespace

// What each chosen expert's result is multiplied by, from the router's logits.
Var Gates(Builder& b, const Var& logits, TensorDesc& chosen) {
  const ModelShape& m = b.model();
  const bool balanced = m.router_scores == "sigmoid";
  const Var scores = balanced ? Sigmoid(b, logits) : Softmax(b, logits);
  Var gates;
  if (!balanced && m.expert_groups == 0) {
    gates = TopK(b, scores, m.top_k, chosen);
  } else {
    // The choice has no gradient; what balances it is no parameter.
    b.Op();
    TensorDesc choice = scores.tensor;
    if (balanced) {
      const TensorDesc bias = b.Constant("balance", scores.tensor.dtype, {m.experts});
      choice = b.out.Work("aten::add", Args(scores.tensor, bias, 1), b.NewLike(scores.tensor));
    }
    if (m.expert_groups > 0) {
      choice = ScoresOfBestGroups(b, choice);
    }
    (void)TopK(b, Var{.tensor = choice}, m.top_k, chosen);
    gates = GatherLast(b, scores, chosen);
  }
  if (m.normalized_gates) {
    const Var sum = View(b, SumOver(b, gates, 1), {gates.shape()[0], 1});
    gates = Divide(b, gates, sum);
  }
  return gates;
}

}  // namespace reprise
