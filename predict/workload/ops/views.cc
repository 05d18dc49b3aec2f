// Views, copies and concatenation.
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/workload/ops/model_operators.h"

namespace reprise {

// Runs of dimensions that lie one behind the other are divided anew, each by itself.
std::optional<std::vector<std::int64_t>> StridesOfView(const TensorDesc& x,
                                                       const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::size_t to = shape.size();
  for (std::size_t from = x.shape.size(); from > 0;) {
    std::int64_t elements = x.shape[from - 1];
    std::int64_t stride = x.strides[from - 1];
    std::int64_t next = elements * stride;
    for (--from; from > 0 && (x.shape[from - 1] == 1 || x.strides[from - 1] == next); --from) {
      elements *= x.shape[from - 1];
      next *= x.shape[from - 1];
    }
    while (to > 0 && (elements > 1 || (from == 0 && shape[to - 1] == 1))) {
      --to;
      if (elements % shape[to] != 0) {
        return std::nullopt;
      }
      strides[to] = stride;
      elements /= shape[to];
      stride *= shape[to];
    }
    if (elements != 1) {
      return std::nullopt;
    }
  }
  return strides;
}

namespace {

TensorDesc CopyOf(Builder& b, const TensorDesc& x) {
  TensorDesc copy = b.out.Host("aten::empty_like", Args(x, 15, 0, kNoValue, kNoValue, 0),
                               b.out.New(x.dtype, x.shape));
  b.out.InPlace("aten::copy_", copy, x, false);
  return copy;
}

// A view where there is one, else a copy, as aten::reshape makes it.
TensorDesc Viewed(Builder& b, const TensorDesc& x, const std::vector<std::int64_t>& shape) {
  if (const auto strides = StridesOfView(x, shape)) {
    return b.out.Host("aten::view", Args(x, shape), b.out.Alias(x, shape, *strides, x.offset));
  }
  const std::string outer = std::exchange(b.out.parent, "aten::clone");
  const TensorDesc copy = CopyOf(b, x);
  b.out.parent = outer;
  return b.Shaped(copy, shape, "aten::_unsafe_view");
}

}  // namespace

Var View(Builder& b, const Var& x, const std::vector<std::int64_t>& shape,
         std::string_view parent) {
  if (x.shape() == shape) {
    return x;
  }
  b.Op(parent);
  const TensorDesc result = Viewed(b, x.tensor, shape);
  const std::vector<std::int64_t> before = x.shape();
  Var out = b.Record("ViewBackward0", {x}, result, [&b, before](const TensorDesc& gradient) {
    b.out.parent = "aten::reshape";
    return std::vector<Grad>{{Viewed(b, gradient, before), false}};
  });
  out.regathered = x.regathered;
  return out;
}

Var Transpose(Builder& b, const Var& x, std::int64_t first, std::int64_t second) {
  const auto turn = [first, second](Builder& builder, const TensorDesc& t) {
    std::vector<std::int64_t> shape = t.shape;
    std::vector<std::int64_t> strides = t.strides;
    std::swap(shape[static_cast<std::size_t>(first)], shape[static_cast<std::size_t>(second)]);
    std::swap(strides[static_cast<std::size_t>(first)], strides[static_cast<std::size_t>(second)]);
    return builder.out.Host("aten::transpose", Args(t, first, second),
                            builder.out.Alias(t, shape, strides, t.offset));
  };
  b.Op();
  const TensorDesc result = turn(b, x.tensor);
  return b.Record("TransposeBackward0", {x}, result, [&b, turn](const TensorDesc& gradient) {
    return std::vector<Grad>{{turn(b, gradient), false}};
  });
}

Var Permute(Builder& b, const Var& x, const std::vector<std::int64_t>& order) {
  const auto permuted = [](Builder& builder, const TensorDesc& t,
                           const std::vector<std::int64_t>& places) {
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    for (const std::int64_t place : places) {
      shape.push_back(t.shape[static_cast<std::size_t>(place)]);
      strides.push_back(t.strides[static_cast<std::size_t>(place)]);
    }
    return builder.out.Host("aten::permute", Args(t, places),
                            builder.out.Alias(t, shape, strides, t.offset));
  };
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  b.Op();
  const TensorDesc result = permuted(b, x.tensor, order);
  return b.Record("PermuteBackward0", {x}, result,
                  [&b, permuted, back](const TensorDesc& gradient) {
                    return std::vector<Grad>{{permuted(b, gradient, back), false}};
                  });
}

Var Slice(Builder& b, const Var& x, std::int64_t dim, std::int64_t start, std::int64_t end) {
  const auto d = static_cast<std::size_t>(dim);
  b.Op();
  std::vector<std::int64_t> shape = x.shape();
  shape[d] = end - start;
  const TensorDesc result = b.out.Host("aten::slice", Args(x.tensor, dim, start, end, 1),
                                       b.out.Alias(x.tensor, shape, x.tensor.strides,
                                                   x.tensor.offset + start * x.tensor.strides[d]));
  const TensorDesc input = x.tensor;
  return b.Record(
      "SliceBackward0", {x}, result, [&b, input, shape, d, start](const TensorDesc& gradient) {
        b.out.parent = "aten::slice_backward";
        const TensorDesc whole = b.Zeros(input.dtype, input.shape);
        const TensorDesc part = b.out.Alias(whole, shape, whole.strides, start * whole.strides[d]);
        b.out.InPlace("aten::copy_", part, gradient, false);
        return Fresh(whole);
      });
}

std::vector<Var> Split(Builder& b, const Var& x, const std::vector<std::int64_t>& sizes) {
  b.Op();
  const std::size_t last = x.shape().size() - 1;
  std::vector<TensorDesc> parts;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    std::vector<std::int64_t> shape = x.shape();
    shape[last] = size;
    parts.push_back(b.out.Alias(x.tensor, shape, x.tensor.strides,
                                x.tensor.offset + at * x.tensor.strides[last]));
    at += size;
  }
  b.out.Host("aten::split_with_sizes", Args(x.tensor, sizes, static_cast<std::int64_t>(last)),
             Args(parts));
  const TensorDesc input = x.tensor;
  return b.tape->Record(
      "SplitWithSizesBackward0", {x}, parts, [&b, input, parts, last](std::vector<Grad>& results) {
        const TensorDesc whole = b.out.New(input.dtype, input.shape);
        std::vector<TensorDesc> gradients;
        for (std::size_t i = 0; i < results.size(); ++i) {
          if (!results[i].tensor) {
            const TensorDesc zeros = b.Zeros(input.dtype, parts[i].shape);
            results[i].tensor = zeros;
          }
          gradients.push_back(*results[i].tensor);
        }
        b.out.Work("aten::cat", Args(gradients, static_cast<std::int64_t>(last)), Args(whole));
        return Fresh(whole);
      });
}

Var Contiguous(Builder& b, const Var& x) {
  if (IsContiguous(x.tensor)) {
    return x;
  }
  b.Op("aten::clone");
  const TensorDesc result = CopyOf(b, x.tensor);
  return b.tape->Record("CloneBackward0", {x}, {result}, [](std::vector<Grad>& results) {
    return std::vector<Grad>{{results[0].tensor, false}};
  })[0];
}

Var Expand(Builder& b, const Var& x, const std::vector<std::int64_t>& shape) {
  b.Op();
  std::vector<std::int64_t> strides = x.tensor.strides;
  Ints repeated;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (x.shape()[d] != shape[d]) {
      strides[d] = 0;
      repeated.push_back(static_cast<std::int64_t>(d));
    }
  }
  const TensorDesc wide = b.out.Host("aten::expand", Args(x.tensor, shape, false),
                                     b.out.Alias(x.tensor, shape, strides, x.tensor.offset));
  const std::vector<std::int64_t> before = x.shape();
  return b.Record("ExpandBackward0", {x}, wide, [&b, before, repeated](const TensorDesc& gradient) {
    const TensorDesc sum = b.out.New(gradient.dtype, before);
    b.out.Work("aten::sum", Args(gradient, repeated, true, kNoValue), Args(sum));
    return Fresh(sum);
  });
}

Var Concatenate(Builder& b, const std::vector<Var>& parts, std::int64_t dim) {
  if (parts.size() == 1) {
    return parts[0];
  }
  b.Op();
  const auto d = static_cast<std::size_t>(dim);
  std::vector<std::int64_t> shape = parts[0].shape();
  shape[d] = 0;
  std::vector<TensorDesc> tensors;
  for (const Var& part : parts) {
    shape[d] += part.shape()[d];
    tensors.push_back(part.tensor);
  }
  const TensorDesc result =
      b.out.Work("aten::cat", Args(tensors, dim), b.out.New(parts[0].tensor.dtype, shape));
  return b.Record("CatBackward0", parts, result, [&b, tensors, d, dim](const TensorDesc& gradient) {
    std::vector<Grad> out;
    std::int64_t at = 0;
    for (const TensorDesc& tensor : tensors) {
      const TensorDesc part = b.out.Host("aten::narrow", Args(gradient, dim, at, tensor.shape[d]),
                                         b.out.Alias(gradient, tensor.shape, gradient.strides,
                                                     gradient.offset + at * gradient.strides[d]));
      at += tensor.shape[d];
      out.push_back({part, false});
    }
    return out;
  });
}

Var Rotary(Builder& b, const Var& x, const TensorDesc& cosines, const TensorDesc& sines) {
  // x cos + rotate_half(x) sin
  const auto last = static_cast<std::int64_t>(x.shape().size()) - 1;
  const std::int64_t features = x.shape().back();
  const Var first = Slice(b, x, last, 0, features / 2);
  const Var second = Slice(b, x, last, features / 2, features);
  b.Op();
  const TensorDesc negative =
      b.out.Work("aten::neg", Args(second.tensor), b.out.New(x.tensor.dtype, second.shape()));
  const Var turned = b.Record("NegBackward0", {second}, negative, [&b](const TensorDesc& gradient) {
    return Fresh(
        b.out.Work("aten::neg", Args(gradient), b.out.New(gradient.dtype, gradient.shape)));
  });
  const Var rotated = Concatenate(b, {turned, first}, last);
  const Var straight = Multiply(b, Var(x), Var{.tensor = cosines});
  return Add(b, straight, Multiply(b, rotated, Var{.tensor = sines}));
}

}  // namespace reprise
