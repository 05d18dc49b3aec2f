// Reductions, scans and sorts along dimensions.
#include <algorithm>
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

// None and no dimension at all mean every one.
std::optional<Shape> Reduced(const CallInputs& in, std::size_t dims_at, std::optional<bool> keep) {
  const Shape& shape = in.Tensor(0)->shape;
  const auto dims = in.Absent(dims_at) ? std::optional<Shape>(Shape{}) : in.Integers(dims_at);
  if (!dims || !keep) {
    return std::nullopt;
  }
  std::vector<bool> gone(shape.size(), dims->empty());
  for (const std::int64_t dim : *dims) {
    const auto at = Dimension(dim, shape.size());
    if (!at) {
      return std::nullopt;
    }
    if (*at < gone.size()) {
      gone[*at] = true;
    }
  }
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) {
      out.push_back(shape[i]);
    } else if (*keep) {
      out.push_back(1);
    }
  }
  return out;
}

Results OneReduced(const CallInputs& in, std::size_t arity, std::size_t dims_at,
                   std::size_t keep_at, DType dtype) {
  const auto shape = Reduced(in, dims_at, in.Flag(keep_at));
  return shape ? One(in, arity, Contiguous(*in.Tensor(0), dtype, *shape)) : std::nullopt;
}

Results Scalar(const CallInputs& in, std::size_t arity, DType dtype) {
  return One(in, arity, Contiguous(*in.Tensor(0), dtype, {}));
}

// An optional element type as an argument: a number of c10's. kUnknown where it makes no sense.
DType TypeArgument(const CallInputs& in, std::size_t i, DType if_absent) {
  const auto number = in.Integer(i);
  return number ? FromScalarType(*number) : in.Absent(i) ? if_absent : DType::kUnknown;
}

// (x, dtype?) or (x, dims?, keepdim, dtype?); `counted` is the type without one.
Results SumLike(const CallInputs& in, DType counted) {
  const bool whole = in.size() == 2 || (in.size() == 3 && in.Tensor(2) != nullptr);
  const DType dtype = TypeArgument(in, whole ? 1 : 3, counted);
  if (dtype == DType::kUnknown) {
    return std::nullopt;
  }
  return whole ? Scalar(in, 2, dtype) : OneReduced(in, 4, 1, 2, dtype);
}

const TensorDesc* FloatingTensor(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  return x != nullptr && IsFloating(x->dtype) ? x : nullptr;
}

DType Counted(const TensorDesc& x) { return IsIntegral(x.dtype) ? DType::kInt64 : x.dtype; }

}  // namespace

Results Sum(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  return x == nullptr ? std::nullopt : SumLike(in, Counted(*x));
}

Results Mean(const CallInputs& in) {
  const TensorDesc* x = FloatingTensor(in);
  return x != nullptr ? SumLike(in, x->dtype) : std::nullopt;
}

// Its dimension is one number.
Results Product(const CallInputs& in) { return Sum(in); }

Results Extremum(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  if (x == nullptr || in.size() > 3) {
    return std::nullopt;
  }
  if (in.size() == 1) {
    return Scalar(in, 1, x->dtype);
  }
  if (in.Tensor(1) != nullptr) {
    return Binary(in);
  }
  const auto shape = in.Integer(1) ? Reduced(in, 1, in.Flag(2)) : std::nullopt;
  return shape ? Several({Contiguous(*x, x->dtype, *shape), Contiguous(*x, DType::kInt64, *shape)})
               : std::nullopt;
}

Results ExtremumOver(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  return x == nullptr ? std::nullopt : OneReduced(in, 3, 1, 2, x->dtype);
}

Results ExtremumIndex(const CallInputs& in) {
  return in.Tensor(0) == nullptr ? std::nullopt : OneReduced(in, 3, 1, 2, DType::kInt64);
}

// Of uint8 the result is uint8.
Results Truth(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  if (x == nullptr || x->dtype == DType::kUInt8) {
    return std::nullopt;
  }
  return in.size() == 1 ? Scalar(in, 1, DType::kBool) : OneReduced(in, 3, 1, 2, DType::kBool);
}

// (x, ord, dims?, keepdim, dtype?)
Results VectorNorm(const CallInputs& in) {
  const TensorDesc* x = FloatingTensor(in);
  const DType dtype = x == nullptr ? DType::kUnknown : TypeArgument(in, 4, x->dtype);
  return dtype == DType::kUnknown ? std::nullopt : OneReduced(in, 5, 2, 3, dtype);
}

// (x, p), (x, p, dims, keepdim)
Results Norm(const CallInputs& in) {
  const TensorDesc* x = FloatingTensor(in);
  return x == nullptr     ? std::nullopt
         : in.size() == 2 ? Scalar(in, 2, x->dtype)
                          : OneReduced(in, 4, 2, 3, x->dtype);
}

// (x, unbiased) or (x, dims?, correction?, keepdim); var_mean has two results.
Results Variance(const CallInputs& in) {
  const TensorDesc* x = FloatingTensor(in);
  if (x == nullptr || (in.size() != 2 && in.size() != 4)) {
    return std::nullopt;
  }
  const auto shape = in.size() == 2 ? Reduced(in, 2, false) : Reduced(in, 1, in.Flag(3));
  if (!shape || (in.size() == 2 && !in.Flag(1))) {
    return std::nullopt;
  }
  const TensorDesc result = Contiguous(*x, x->dtype, *shape);
  return in.name == "aten::var_mean" ? Several({result, result}) : Several({result});
}

// (x, dims, keepdim). No dimensions at all keep them, whatever keepdim says, in some versions.
Results LogSumExp(const CallInputs& in) {
  const TensorDesc* x = FloatingTensor(in);
  const auto dims = in.Integers(1);
  return x != nullptr && dims && !dims->empty() ? OneReduced(in, 3, 1, 2, x->dtype) : std::nullopt;
}

// (x, dim, dtype?)
Results Scan(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const DType dtype = x == nullptr ? DType::kUnknown : TypeArgument(in, 2, Counted(*x));
  return dtype == DType::kUnknown ? std::nullopt : One(in, 3, Contiguous(*x, dtype, x->shape));
}

// (x, dim, descending) or (x, stable?, dim, descending) -> (values, indices)
Results Sort(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(0);
  return x != nullptr && (in.size() == 3 || in.size() == 4)
             ? Several({Contiguous(*x), Contiguous(*x, DType::kInt64, x->shape)})
             : std::nullopt;
}

// (x, k, dim, largest, sorted) -> (values, indices)
Results TopK(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const auto k = in.Integer(1);
  const auto at = Dimension(in.Integer(2), x);
  if (!k || !at || *at >= x->shape.size() || in.size() != 5) {
    return std::nullopt;
  }
  Shape shape = x->shape;
  shape[*at] = *k;
  return Several({Contiguous(*x, x->dtype, shape), Contiguous(*x, DType::kInt64, shape)});
}

}  // namespace reprise::pytorch
