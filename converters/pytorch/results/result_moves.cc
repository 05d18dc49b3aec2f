// What reads, writes or rearranges elements without computing.
#include <algorithm>
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {

// (x, dim, index)
Results IndexSelect(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const TensorDesc* index = in.Tensor(2);
  const auto at = Dimension(in.Integer(1), x);
  if (!at || index == nullptr || index->shape.size() > 1) {
    return std::nullopt;
  }
  Shape shape = x->shape;
  if (*at < shape.size()) {
    shape[*at] = ElementCount(index->shape);
  }
  return One(in, 3, Contiguous(*x, x->dtype, shape));
}

// (x, dim, index, sparse_grad)
Results Gather(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const TensorDesc* index = in.Tensor(2);
  return x != nullptr && index != nullptr && in.Flag(3)
             ? One(in, 4, Contiguous(*x, x->dtype, index->shape))
             : std::nullopt;
}

Results Scatter(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(0);
  const bool known = x != nullptr && in.Integer(1) && in.Tensor(2) != nullptr;
  return known && (in.Tensor(3) != nullptr || in.IsNumber(3)) ? One(in, 4, Contiguous(*x))
                                                              : std::nullopt;
}

// (weight, indices, padding_idx, scale_grad_by_freq, sparse)
Results Embedding(const CallInputs& in) {
  const TensorDesc* weight = in.Tensor(0);
  const TensorDesc* indices = in.Tensor(1);
  if (weight == nullptr || weight->shape.size() != 2 || indices == nullptr) {
    return std::nullopt;
  }
  Shape shape = indices->shape;
  shape.push_back(weight->shape[1]);
  return One(in, 5, Contiguous(*weight, weight->dtype, shape));
}

// (grad, indices, num_weights, padding_idx, scale_grad_by_freq)
Results EmbeddingBackward(const CallInputs& in) {
  const TensorDesc* grad = in.Tensor(0);
  const auto rows = in.Integer(2);
  return grad != nullptr && !grad->shape.empty() && in.Tensor(1) != nullptr && rows
             ? One(in, 5, Contiguous(*grad, grad->dtype, {*rows, grad->shape.back()}))
             : std::nullopt;
}

// (x, diagonal)
Results Triangle(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  return x != nullptr && in.Integer(1) ? One(in, 2, Contiguous(*x)) : std::nullopt;
}

// (x, [before the last dimension, after it, before the one before, …], value)
Results Pad(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(0);
  const auto pads = in.Integers(1);
  if (x == nullptr || !pads || pads->size() % 2 != 0 || pads->size() > 2 * x->shape.size() ||
      in.size() != 3) {
    return std::nullopt;
  }
  Shape shape = x->shape;
  for (std::size_t i = 0; i < pads->size(); ++i) {
    shape[shape.size() - 1 - i / 2] += (*pads)[i];
  }
  return std::any_of(shape.begin(), shape.end(), [](auto extent) { return extent < 0; })
             ? std::nullopt
             : Several({Contiguous(*x, x->dtype, shape)});
}

// (x, repeats): as many as the result has dimensions
Results Repeat(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const auto repeats = in.Integers(1);
  if (x == nullptr || !repeats || repeats->size() < x->shape.size()) {
    return std::nullopt;
  }
  Shape shape = *repeats;
  for (std::size_t i = 1; i <= x->shape.size(); ++i) {
    shape[shape.size() - i] *= x->shape[x->shape.size() - i];
  }
  return One(in, 2, Contiguous(*x, x->dtype, shape));
}

// (x, dim): half as much
Results Glu(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(0);
  const auto at = Dimension(in.Integer(1), x);
  if (!at || *at >= x->shape.size() || x->shape[*at] % 2 != 0) {
    return std::nullopt;
  }
  Shape shape = x->shape;
  shape[*at] /= 2;
  return One(in, 2, Contiguous(*x, x->dtype, shape));
}

// (grad, x, dim)
Results GluBackward(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(1);
  return x != nullptr && in.Integer(2) ? One(in, 3, Contiguous(*x)) : std::nullopt;
}

}  // namespace reprise::pytorch
