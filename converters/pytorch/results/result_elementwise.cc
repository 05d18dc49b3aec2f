// What TensorIterator computes element by element: broadcast shapes, promoted types.
#include <algorithm>
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

// Arguments [first, last): tensors or numbers. Nothing if one is neither, or none is a tensor.
struct Operands {
  std::vector<const TensorDesc*> tensors;
  std::vector<const Value*> values;
};

std::optional<Operands> ReadOperands(const CallInputs& in, std::size_t first, std::size_t last) {
  Operands out;
  for (std::size_t i = first; i < last; ++i) {
    if (const TensorDesc* tensor = in.Tensor(i)) {
      out.tensors.push_back(tensor);
    } else if (!in.IsNumber(i)) {
      return std::nullopt;
    }
    out.values.push_back(&in[i]);
  }
  return out.tensors.empty() ? std::nullopt : std::optional(std::move(out));
}

// On a CPU, operands of another type are converted first, which closes gaps in their layout.
bool LayoutChanges(const std::vector<const TensorDesc*>& tensors) {
  const auto other = [&](const TensorDesc* t) { return t->dtype != tensors.front()->dtype; };
  return std::any_of(tensors.begin(), tensors.end(), other) &&
         !std::all_of(tensors.begin(), tensors.end(), [](auto* t) { return IsDense(*t); });
}

std::optional<TensorDesc> Computed(const CallInputs& in, const Operands& operands,
                                   std::optional<DType> dtype) {
  const auto shape = BroadcastShape(operands.tensors);
  if (!shape || !dtype || (!in.on_gpu && LayoutChanges(operands.tensors))) {
    return std::nullopt;
  }
  return Iterated(operands.tensors, *dtype, *shape);
}

Results Promoted(const CallInputs& in, std::size_t operands, std::size_t arity) {
  const auto read = ReadOperands(in, 0, operands);
  return read ? One(in, arity, Computed(in, *read, PromotedType(read->values))) : std::nullopt;
}

Results PromotedFloat(const CallInputs& in, std::size_t operands, std::size_t arity) {
  auto out = Promoted(in, operands, arity);
  return out && IsFloating(out->front().AsTensor()->dtype) ? std::move(out) : std::nullopt;
}

Results Truths(const CallInputs& in, std::size_t operands) {
  const auto read = ReadOperands(in, 0, operands);
  return read ? One(in, operands, Computed(in, *read, DType::kBool)) : std::nullopt;
}

bool IsReal(const TensorDesc* x) {
  return x != nullptr && (IsFloating(x->dtype) || IsIntegral(x->dtype));
}

}  // namespace

Results UnarySame(const CallInputs& in) {
  return IsReal(in.Tensor(0)) ? Promoted(in, 1, 1) : std::nullopt;
}
Results UnaryFloat(const CallInputs& in) { return PromotedFloat(in, 1, 1); }
Results UnaryBool(const CallInputs& in) { return Truths(in, 1); }

Results Activation(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (!in.IsNumber(i) && !in.Absent(i)) {
      return std::nullopt;
    }
  }
  return x != nullptr && IsFloating(x->dtype) ? Results(ValueList{{Like(*x, x->dtype)}})
                                              : std::nullopt;
}

// Kineto hides the text, and with it which function it is: no claim, lest the wrong one is run.
Results Gelu(const CallInputs& in) {
  const bool backward = in.name.ends_with("backward");
  const std::size_t operands = backward ? 2 : 1;
  if (in.size() == operands + 1 && in[operands].AsString() != nullptr) {
    return PromotedFloat(in, operands, operands + 1);
  }
  return in.size() == operands ? PromotedFloat(in, operands, operands) : std::nullopt;
}

// Of two truths, powers are integers.
Results Binary(const CallInputs& in) {
  auto out = Promoted(in, 2, 2);
  const bool truth = out && out->front().AsTensor()->dtype == DType::kBool;
  return truth && in.name == "aten::pow" ? std::nullopt : std::move(out);
}
Results BinaryFloat(const CallInputs& in) { return PromotedFloat(in, 2, 2); }
Results BinaryBool(const CallInputs& in) { return Truths(in, 2); }
Results BinaryScaled(const CallInputs& in) {
  return in.IsNumber(2) ? Promoted(in, 2, 3) : std::nullopt;
}
Results Ternary(const CallInputs& in) {
  return in.IsNumber(3) ? PromotedFloat(in, 3, 4) : std::nullopt;
}

// (start, end, weight): the weight is a number, or broadcast as well.
Results Lerp(const CallInputs& in) { return PromotedFloat(in, in.IsNumber(2) ? 2 : 3, 3); }

// (condition, a, b)
Results Where(const CallInputs& in) {
  const auto all = ReadOperands(in, 0, 3);
  return all && all->tensors.size() == 3
             ? One(in, 3, Computed(in, *all, PromotedType(std::span(all->values).subspan(1))))
             : std::nullopt;
}

// (x, min?, max?)
Results Clamp(const CallInputs& in) {
  Operands operands;
  for (std::size_t i = 0; i < 3 && i < in.size(); ++i) {
    if (const TensorDesc* tensor = in.Tensor(i)) {
      operands.tensors.push_back(tensor);
      operands.values.push_back(&in[i]);
    } else if (in.IsNumber(i)) {
      operands.values.push_back(&in[i]);
    } else if (i == 0 || !in.Absent(i)) {
      return std::nullopt;
    }
  }
  return in.Tensor(0) == nullptr
             ? std::nullopt
             : One(in, 3, Computed(in, operands, PromotedType(operands.values)));
}

// (x, mask, value)
Results MaskedFill(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const TensorDesc* mask = in.Tensor(1);
  if (x == nullptr || mask == nullptr || in.size() != 3) {
    return std::nullopt;
  }
  const TensorDesc* both[] = {x, mask};
  const auto shape = BroadcastShape(both);
  return shape ? Several({Contiguous(*x, x->dtype, *shape)}) : std::nullopt;
}

// Which operand decides the layout differs between these operators: not if both are alike.
Results GradientOf(const CallInputs& in) {
  const TensorDesc* grad = in.Tensor(0);
  const TensorDesc* x = in.Tensor(1);
  if (!Alike(grad, x) || !IsFloating(x->dtype)) {
    return std::nullopt;
  }
  std::size_t numbers = 2;
  while (in.IsNumber(numbers)) {
    ++numbers;
  }
  const TensorDesc result = Like(*x, x->dtype);
  return result.strides == Like(*grad, x->dtype).strides ? One(in, numbers, result) : std::nullopt;
}

// (x, p, train?) -> (y, mask)
Results Dropout(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  return x != nullptr && IsDense(*x) && in.size() == 3
             ? Several({Like(*x, x->dtype), Like(*x, DType::kBool)})
             : std::nullopt;
}

// (grad, mask, scale)
Results DropoutBackward(const CallInputs& in) {
  const TensorDesc* grad = in.ContiguousTensor(0);
  const TensorDesc* mask = in.ContiguousTensor(1);
  return grad != nullptr && mask != nullptr && in.size() == 3 && grad->shape == mask->shape
             ? Several({Contiguous(*grad)})
             : std::nullopt;
}

}  // namespace reprise::pytorch
