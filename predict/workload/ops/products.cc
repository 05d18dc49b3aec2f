// Matrix products.
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/ops/scaling.h"

namespace reprise {
namespace {

TensorDesc Turned(Builder& b, const TensorDesc& x) {
  return b.out.Host(
      "aten::t", Args(x),
      b.out.Alias(x, {x.shape[1], x.shape[0]}, {x.strides[1], x.strides[0]}, x.offset));
}

// Nothing where it has the shape already.
TensorDesc Reshaped(Builder& b, const TensorDesc& x, const std::vector<std::int64_t>& shape,
                    std::string_view name = "aten::view") {
  return x.shape == shape ? x : b.Shaped(x, shape, name);
}

// x yᵀ of two matrices, or of one and a view of the other.
TensorDesc Product(Builder& b, const TensorDesc& x, const TensorDesc& y) {
  return b.out.Work("aten::mm", Args(x, y), b.out.New(x.dtype, {x.shape[0], y.shape[1]}));
}

// x (rows, k), where it arrives in parts, to (rows, n): `multiply` gets that part of every member's
// rows, (members, m, k), and the result's, (members, m, n).
TensorDesc InParts(
    Builder& b, const TensorDesc& x, std::int64_t n, const Arrival& arrival,
    const std::function<void(const TensorDesc& in, const TensorDesc& to)>& multiply) {
  const std::int64_t k = x.shape[1];
  const std::int64_t members = arrival.members;
  const std::int64_t own = x.shape[0] / members;  // rows of a member
  const std::int64_t rows = own / static_cast<std::int64_t>(arrival.parts.size());
  TensorDesc result = b.out.New(x.dtype, {x.shape[0], n});
  for (std::size_t c = 0; c < arrival.parts.size(); ++c) {
    const std::int64_t first = static_cast<std::int64_t>(c) * rows;
    const TensorDesc in = b.out.Alias(x, {members, rows, k}, {own * k, k, 1}, x.offset + first * k);
    const TensorDesc to =
        b.out.Alias(result, {members, rows, n}, {own * n, n, 1}, result.offset + first * n);
    b.out.Wait(arrival.parts[c]);
    multiply(in, to);
  }
  return result;
}

// By y (k, n), the same for every member. A bias is added to every row.
TensorDesc ProductOfParts(Builder& b, const TensorDesc& x, const TensorDesc& y,
                          const TensorDesc* bias, const Arrival& arrival) {
  const Ints shape = {arrival.members, y.shape[0], y.shape[1]};
  const TensorDesc repeated =
      b.out.Host("aten::expand", Args(y, shape, false),
                 b.out.Alias(y, shape, {0, y.strides[0], y.strides[1]}, y.offset));
  return InParts(b, x, y.shape[1], arrival, [&](const TensorDesc& in, const TensorDesc& to) {
    if (bias != nullptr) {
      b.out.Work("aten::baddbmm", Args(*bias, in, repeated, 1, 1, to), Args(to));
    } else {
      b.out.Work("aten::bmm", Args(in, repeated, to), Args(to));
    }
  });
}

// The same in 8 bits, by y (n, k), transposed.
TensorDesc ScaledProductOfParts(Builder& b, const TensorDesc& x, DType dtype, const ScaledTensor& y,
                                const TensorDesc* bias, const Arrival& arrival) {
  const std::int64_t n = y.values.shape[0];
  return InParts(b, x, n, arrival, [&](const TensorDesc& in, const TensorDesc& to) {
    ScaledProductOfView(b, in, dtype, y, to);
    if (bias != nullptr) {
      b.out.InPlace("aten::add_", to, *bias, 1);
    }
  });
}

// What a layer in 8 bits keeps.
struct ScaledOperands {
  ScaledMatrix weight;
  std::optional<ScaledTensor> input_columns;  // none: the input is gathered again
  std::optional<ScaledTensor> gradient_rows;  // as the input's gradient took it
};

// What the backward pass of a linear layer needs, by value: entries outlive the call.
struct LinearNeeds {
  Builder* b;
  TensorDesc x;  // (rows, k)
  std::shared_ptr<Regathered> regathered;
  Parameter* parameter;
  Parameter* bias;
  bool deferred, input_gradient;
  std::shared_ptr<ScaledOperands> scaled;  // null: in the type of x

  [[nodiscard]] TensorDesc InputMatrix() const {
    if (!regathered) {
      return x;
    }
    const TensorDesc& whole = regathered->Get();
    return b->out.Part(whole, 0, x.shape);
  }
  // By the weight, for the input's gradient.
  [[nodiscard]] TensorDesc ByWeight(const TensorDesc& gradient, const Arrival* arrival) const {
    if (scaled && arrival != nullptr) {
      return ScaledProductOfParts(*b, gradient, ScaledGradientType(*b), scaled->weight.columns,
                                  nullptr, *arrival);
    }
    if (scaled) {
      scaled->gradient_rows = ScaledRows(*b, gradient, ScaledGradientType(*b));
      return ScaledProduct(*b, *scaled->gradient_rows, scaled->weight.columns);
    }
    // Of the view that the forward pass kept; the storage may have been gathered again.
    const TensorDesc& weight = parameter->value;
    const TensorDesc kept = b->out.Alias(weight, {weight.shape[1], weight.shape[0]},
                                         {weight.strides[1], weight.strides[0]}, weight.offset);
    const TensorDesc turned = Turned(*b, kept);
    return arrival != nullptr ? ProductOfParts(*b, gradient, turned, nullptr, *arrival)
                              : Product(*b, gradient, turned);
  }
  [[nodiscard]] TensorDesc ScaledWeightGradient(const TensorDesc& gradient) const {
    if (!scaled->gradient_rows) {
      scaled->gradient_rows = ScaledRows(*b, gradient, ScaledGradientType(*b));
    }
    const ScaledTensor rows = ScaledColumns(*b, gradient, *scaled->gradient_rows);
    std::optional<ScaledTensor> input = scaled->input_columns;
    if (!input) {
      const TensorDesc again = InputMatrix();
      input = ScaledColumns(*b, again, ScaledRows(*b, again, ScaledType(*b)));
    }
    b->out.facts.copies = parameter->copies;
    TensorDesc product = ScaledProduct(*b, rows, *input);
    b->out.facts.copies = 1;
    return product;
  }
  [[nodiscard]] TensorDesc WeightGradient(const TensorDesc& gradient) const {
    if (scaled) {
      return ScaledWeightGradient(gradient);
    }
    const TensorDesc rows = Turned(*b, gradient);
    const TensorDesc columns = InputMatrix();
    b->out.facts.copies = parameter->copies;
    const TensorDesc product = Product(*b, rows, columns);
    b->out.facts.copies = 1;
    const TensorDesc turned = Turned(*b, product);
    b->out.parent = "TBackward0";
    return Turned(*b, turned);
  }
  [[nodiscard]] TensorDesc BiasGradient(const TensorDesc& gradient) const {
    const std::int64_t n = gradient.shape[1];
    const TensorDesc sum = b->out.New(gradient.dtype, {1, n});
    b->out.Work("aten::sum", Args(gradient, Ints{0}, true, kNoValue), Args(sum));
    return Reshaped(*b, sum, {n});
  }
};

constexpr const char* kAccumulate = "torch::autograd::AccumulateGrad";

std::vector<Grad> LinearBackward(const LinearNeeds& needs, std::vector<Grad>& results) {
  Builder& b = *needs.b;
  const TensorDesc given = *results[0].tensor;
  const std::string name = b.out.parent;
  b.out.parent = "aten::reshape";
  const std::int64_t n = given.shape.back();
  const TensorDesc gradient = Reshaped(b, given, {given.elements / n, n});
  b.out.parent = name;
  std::vector<Grad> out(needs.bias != nullptr ? 3 : 2);
  if (needs.input_gradient) {
    if (needs.regathered && b.workload.overlap.tp && !needs.parameter->frozen) {
      needs.regathered->Start();  // the weight's gradient needs it, after this product
    }
    b.out.facts.copies = needs.parameter->copies;
    const TensorDesc product = needs.ByWeight(gradient, results[0].arrival.get());
    b.out.facts.copies = 1;
    std::vector<std::int64_t> shape(given.shape);
    shape.back() = needs.parameter->shape[1];
    b.out.parent = "aten::reshape";
    out[0] = {Reshaped(b, product, shape), shape.size() == 2};
    b.out.parent = name;
  }
  if (needs.parameter->frozen) {
    return out;
  }
  if (b.delayed != nullptr) {
    if (needs.bias != nullptr) {
      out[2] = {needs.BiasGradient(gradient), false};
    }
    b.Delay([needs, gradient] {
      const TensorDesc sum = needs.WeightGradient(gradient);
      needs.b->out.parent = kAccumulate;
      needs.b->on_parameter(*needs.parameter, {sum, false});
    });
    return out;
  }
  const auto weights = [needs, gradient, name](bool deliver) {
    Builder& builder = *needs.b;
    std::pair<TensorDesc, std::optional<TensorDesc>> sums;
    builder.out.parent = name;
    sums.first = needs.WeightGradient(gradient);
    if (needs.bias != nullptr) {
      builder.out.parent = "autograd::engine::evaluate_function: " + name;
      sums.second = needs.BiasGradient(gradient);
    }
    builder.out.parent = name;
    if (deliver) {
      builder.out.parent = kAccumulate;
      builder.on_parameter(*needs.parameter, {sums.first, false});
      if (sums.second) {
        builder.on_parameter(*needs.bias, {sums.second, false});
      }
    }
    return sums;
  };
  if (needs.deferred) {
    b.deferred.push_back([weights] { (void)weights(true); });
    return out;
  }
  const auto sums = weights(false);
  out[1] = {sums.first, false};
  if (sums.second) {
    out[2] = {*sums.second, false};
  }
  return out;
}

}  // namespace

namespace {

// x by a weight in 8 bits: (rows, n). `kept`: for the backward pass. `frozen`: the weight is.
TensorDesc ScaledForward(Builder& b, const Var& x, const TensorDesc& rows, const TensorDesc* bias,
                         bool frozen, ScaledOperands& kept) {
  if (x.arrival && !x.arrival->parts.empty()) {
    return ScaledProductOfParts(b, rows, ScaledType(b), kept.weight.rows, bias, *x.arrival);
  }
  const ScaledTensor in = ScaledRows(b, rows, ScaledType(b));
  if (!x.regathered && !frozen) {
    kept.input_columns = ScaledColumns(b, rows, in);
  }
  return ScaledProduct(b, in, kept.weight.rows, bias);
}

TensorDesc LinearForward(Builder& b, const Var& x, const TensorDesc& rows, const Parameter& weight,
                         const TensorDesc* bias) {
  const TensorDesc turned = Turned(b, weight.value);
  if (x.arrival && !x.arrival->parts.empty()) {
    return ProductOfParts(b, rows, turned, bias, *x.arrival);
  }
  const TensorDesc product = b.out.New(x.tensor.dtype, {rows.shape[0], weight.shape[0]});
  if (bias != nullptr) {
    return b.out.Work("aten::addmm", Args(*bias, rows, turned, 1, 1), product);
  }
  b.out.parent = "aten::matmul";
  return b.out.Work("aten::mm", Args(rows, turned), product);
}

}  // namespace

Var Linear(Builder& b, const Var& x, Parameter& weight, Parameter* bias, bool column) {
  const std::int64_t n = weight.shape[0];
  const std::int64_t k = weight.shape[1];
  std::vector<std::int64_t> shape = x.shape();
  shape.back() = n;
  std::shared_ptr<ScaledOperands> scaled;
  if (IsScaled(b, weight)) {
    scaled = std::make_shared<ScaledOperands>();
  }
  b.Op(scaled ? "ScaledLinear" : "aten::linear");
  const TensorDesc rows = Reshaped(b, x.tensor, {x.tensor.elements / k, k});
  const TensorDesc* const added = bias == nullptr ? nullptr : &bias->value;
  if (scaled) {
    scaled->weight = ScaledWeight(b, weight);
  }
  b.out.facts.copies = weight.copies;
  TensorDesc product = scaled ? ScaledForward(b, x, rows, added, weight.frozen, *scaled)
                              : LinearForward(b, x, rows, weight, added);
  b.out.facts.copies = 1;
  if (x.arrival) {
    x.arrival->parts.clear();  // all of it is there
  }
  product = Reshaped(b, product, shape, "aten::_unsafe_view");
  const bool deferred = column && b.workload.overlap.tp && b.layout().tp > 1;
  LinearNeeds needs{&b, rows, x.regathered, &weight, bias, deferred, x.NeedsGradient(), scaled};
  if (x.regathered) {
    needs.x.incarnation = -1;  // it is not kept
  }
  std::vector<Var> inputs = {x, Var{.parameter = &weight}};
  if (bias != nullptr) {
    inputs.push_back(Var{.parameter = bias});
  }
  const char* const name = scaled            ? "ScaledLinearBackward"
                           : bias != nullptr ? "AddmmBackward0"
                                             : "MmBackward0";
  return b.tape->Record(name, inputs, {product}, [needs](std::vector<Grad>& results) {
    return LinearBackward(needs, results);
  })[0];
}

namespace {

// Of rows [part · width, (part + 1) · width), where rows have scales of their own.
TensorDesc PartOfScale(Builder& b, const TensorDesc& scale, std::int64_t part, std::int64_t width) {
  if (scale.shape.size() < 2) {
    return scale;
  }
  const std::int64_t each = scale.shape[1];
  return b.out.Part(scale, part * width * each, {width, each});
}

}  // namespace

Var LinearInParts(Builder& b, const Var& x, Parameter& weight, std::int64_t parts,
                  const std::function<void(std::int64_t part, const TensorDesc& columns)>& each) {
  const std::int64_t n = weight.shape[0];
  const std::int64_t k = weight.shape[1];
  std::vector<std::int64_t> shape = x.shape();
  shape.back() = n;
  b.Op("aten::linear");
  const TensorDesc rows = Reshaped(b, x.tensor, {x.tensor.elements / k, k});
  const TensorDesc product = b.out.New(x.tensor.dtype, shape);
  const std::int64_t width = n / parts;
  std::shared_ptr<ScaledOperands> scaled;
  ScaledTensor in;
  if (IsScaled(b, weight)) {
    in = ScaledRows(b, rows, ScaledType(b));
    scaled = std::make_shared<ScaledOperands>(
        ScaledOperands{ScaledWeight(b, weight), ScaledColumns(b, rows, in), std::nullopt});
  }
  for (std::int64_t part = 0; part < parts; ++part) {
    const TensorDesc& whole = scaled ? scaled->weight.rows.values : weight.value;
    const TensorDesc own = b.out.Host("aten::narrow", Args(whole, 0, part * width, width),
                                      b.out.Part(whole, part * width * k, {width, k}));
    const TensorDesc columns =
        b.out.Alias(product, {rows.shape[0], width}, {n, 1}, product.offset + part * width);
    b.out.facts.copies = weight.copies;
    if (scaled) {
      ScaledProduct(b, in, {own, PartOfScale(b, scaled->weight.rows.scale, part, width)}, nullptr,
                    &columns);
    } else {
      const TensorDesc turned = Turned(b, own);
      b.out.parent = "aten::matmul";
      b.out.Work("aten::mm", Args(rows, turned, columns), Args(columns));
    }
    b.out.facts.copies = 1;
    shape.back() = width;
    each(part, b.out.Alias(product, shape, product.strides, columns.offset));
  }
  const LinearNeeds needs{&b,      rows,  x.regathered,      &weight,
                          nullptr, false, x.NeedsGradient(), scaled};
  return b.tape->Record(
      scaled ? "ScaledLinearBackward" : "MmBackward0", {x, Var{.parameter = &weight}}, {product},
      [needs](std::vector<Grad>& results) { return LinearBackward(needs, results); })[0];
}

}  // namespace reprise
