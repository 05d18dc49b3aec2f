#include "replayer/memory/float_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace reprise {
namespace {

constexpr FloatRange kAboutOne{0.8, 1.2};
constexpr FloatRange kAboutZero{-0.05, 0.05};

// A uniform distribution in [-a, a) has the standard deviation a/sqrt(3).
FloatRange Scattered(double deviation) {
  const double most = std::sqrt(3.0) * deviation;
  return {-most, most};
}
FloatRange Factor(std::int64_t terms) {
  return Scattered(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 1))));
}

struct ArgumentRange {
  std::string_view name;
  std::size_t argument;
  FloatRange range;
};
constexpr std::array kArguments = {
    ArgumentRange{"aten::native_layer_norm", 2, kAboutOne},
    ArgumentRange{"aten::native_layer_norm", 3, kAboutZero},
    ArgumentRange{"aten::native_layer_norm_backward", 3, kAboutZero},  // mean
    ArgumentRange{"aten::native_layer_norm_backward", 4, kAboutOne},   // 1 / deviation
    ArgumentRange{"aten::native_layer_norm_backward", 5, kAboutOne},
    ArgumentRange{"aten::native_group_norm", 1, kAboutOne},
    ArgumentRange{"aten::native_group_norm", 2, kAboutZero},
    ArgumentRange{"aten::_fused_rms_norm", 2, kAboutOne},
    ArgumentRange{"aten::native_batch_norm", 1, kAboutOne},
    ArgumentRange{"aten::native_batch_norm", 2, kAboutZero},
    ArgumentRange{"aten::native_batch_norm", 3, kAboutZero},  // running mean
    ArgumentRange{"aten::native_batch_norm", 4, kAboutOne},   // running variance
    ArgumentRange{"aten::native_batch_norm_backward", 2, kAboutOne},
    ArgumentRange{"aten::native_batch_norm_backward", 4, kAboutOne},
    ArgumentRange{"aten::native_batch_norm_backward", 6, kAboutOne},
    ArgumentRange{"aten::cudnn_batch_norm", 1, kAboutOne},
    ArgumentRange{"aten::cudnn_batch_norm", 2, kAboutZero},
    ArgumentRange{"aten::cudnn_batch_norm", 3, kAboutZero},
    ArgumentRange{"aten::cudnn_batch_norm", 4, kAboutOne},
    ArgumentRange{"aten::miopen_batch_norm", 1, kAboutOne},
    ArgumentRange{"aten::miopen_batch_norm", 2, kAboutZero},
    ArgumentRange{"aten::miopen_batch_norm", 3, kAboutZero},
    ArgumentRange{"aten::miopen_batch_norm", 4, kAboutOne},
};

// (addend, a, b, …); others begin with the factors.
constexpr std::array<std::string_view, 5> kAddends = {
    "aten::addmm", "aten::baddbmm", "aten::addbmm", "aten::addmv", "aten::_addmm_activation"};

bool IsMultiplication(std::string_view name) {
  return name == "aten::mul" || name == "aten::mul_" || name == "aten::_foreach_mul";
}
bool IsDivision(std::string_view name) {
  return name == "aten::div" || name == "aten::div_" || name == "aten::_foreach_div";
}

bool IsNumberTensor(const TensorDesc* tensor) {
  return tensor != nullptr && ElementCount(tensor->shape) == 1;
}

// Elements of one output channel's filter: all but the first dimension.
std::int64_t FilterSize(const TensorDesc& weight) {
  return weight.shape.empty() ? 1 : ElementCount({weight.shape.begin() + 1, weight.shape.end()});
}

}  // namespace

FloatValues::Place FloatValues::PlaceOf(const TensorDesc& tensor) {
  return {tensor.incarnation, tensor.offset, IsContiguous(tensor) ? ElementCount(tensor.shape) : 1};
}

void FloatValues::Know(const TensorDesc* tensor, Use use) {
  if (tensor != nullptr && IsFloating(tensor->dtype)) {
    events_.push_back({Event::Kind::kUse, 0, PlaceOf(*tensor), use});
  }
}

void FloatValues::NoteProduct(const TensorDesc* a, const TensorDesc* b, const OpCall& call,
                              const std::function<bool(std::int64_t)>& existed) {
  if (a == nullptr || b == nullptr || a->shape.empty()) {
    return;
  }
  const std::int64_t terms = a->shape.back();
  const bool weights = existed(b->incarnation);
  Know(a, {weights ? Scattered(1) : Factor(terms)});
  Know(b, {Factor(terms)});
  const TensorDesc* out = call.OutputTensor(0);
  if (out == nullptr || weights || a->shape.size() != 3) {
    return;
  }
  const auto scaled_a = scales_.find(a->incarnation);
  const auto scaled_b = scales_.find(b->incarnation);
  if (scaled_a == scales_.end() && scaled_b == scales_.end()) {
    terms_[out->incarnation] = terms;  // what scales it may come
  } else {
    SetNumber(scaled_a != scales_.end() ? scaled_a->second : scaled_b->second, terms);
  }
}

void FloatValues::SetNumber(const Scale& scale, std::int64_t terms) {
  const double root = std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 1)));
  numbers_.try_emplace(scale.number, scale.divides ? root : 1 / root);
}

// Only what is multiplied or divided: sums hold small values as well as any.
void FloatValues::NoteElementwise(const OpCall& call) {
  const bool divides = IsDivision(call.name);
  if (!divides && !IsMultiplication(call.name)) {
    return;
  }
  const TensorDesc* scaled = call.InputTensor(0);
  const TensorDesc* number = call.InputTensor(1);
  if (scaled == nullptr || !IsNumberTensor(number)) {
    for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
      Know(tensor, {kAboutOne, true});
    }
    return;
  }
  const Scale scale{number->incarnation, divides};
  if (const auto product = terms_.find(scaled->incarnation); product != terms_.end()) {
    SetNumber(scale, product->second);
  } else if (const TensorDesc* out = call.OutputTensor(0)) {
    scales_[out->incarnation] = scale;
  }
}

void FloatValues::Note(OpClass op_class, const OpCall& call,
                       const std::function<bool(std::int64_t)>& existed) {
  NoteUses(op_class, call, existed);
  NoteWrites(call);
}

void FloatValues::NoteUses(OpClass op_class, const OpCall& call,
                           const std::function<bool(std::int64_t)>& existed) {
  for (const ArgumentRange& known : kArguments) {
    if (known.name == call.name) {
      Know(call.InputTensor(known.argument), {known.range});
    }
  }
  if (op_class == OpClass::kGemm) {
    const bool addend = std::find(kAddends.begin(), kAddends.end(), call.name) != kAddends.end();
    NoteProduct(call.InputTensor(addend ? 1 : 0), call.InputTensor(addend ? 2 : 1), call, existed);
    Know(call.InputTensor(addend ? 0 : 2), {kAboutZero});
  } else if (op_class == OpClass::kConv) {
    if (const TensorDesc* weight = call.InputTensor(1)) {
      Know(call.InputTensor(0), {Scattered(1)});
      Know(weight, {Factor(FilterSize(*weight))});
    }
    Know(call.InputTensor(2), {kAboutZero});
  } else if (op_class == OpClass::kEmbedding) {
    const TensorDesc* table = call.InputTensor(0);
    Know(table,
         {table == nullptr || table->shape.empty() ? FloatRange() : Factor(table->shape.back())});
  } else if (op_class == OpClass::kAttention || op_class == OpClass::kNorm) {
    for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
      if (tensor->shape.size() > 1) {
        Know(tensor, {Scattered(1)});
      }
    }
  } else {
    NoteElementwise(call);
  }
}

// Results that are no inputs: what was there before is used no more.
void FloatValues::NoteWrites(const OpCall& call) {
  const auto inputs = TensorsIn(call.inputs);
  for (const TensorDesc* result : TensorsIn(call.outputs)) {
    const bool read = std::any_of(inputs.begin(), inputs.end(), [result](const auto* input) {
      return input->incarnation == result->incarnation;
    });
    if (!read && IsFloating(result->dtype)) {
      events_.push_back({Event::Kind::kWrite, 0, PlaceOf(*result), {}});
    }
  }
}

void FloatValues::NoteCopies(const std::vector<Copied>& copies) {
  std::vector<std::pair<Place, Place>> places;
  for (const Copied& copied : copies) {
    if (const auto scale = scales_.find(copied.source.incarnation); scale != scales_.end()) {
      const Scale same = scale->second;
      scales_[copied.result.incarnation] = same;
    }
    if (IsFloating(copied.source.dtype) && IsFloating(copied.result.dtype)) {
      places.emplace_back(PlaceOf(copied.source), PlaceOf(copied.result));
    }
  }
  if (!places.empty()) {
    events_.push_back({Event::Kind::kCopies, static_cast<std::uint32_t>(copies_.size()), {}, {}});
    copies_.push_back(std::move(places));
  }
}

void FloatValues::Finish() {
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    switch (event->kind) {
      case Event::Kind::kUse:
        Apply(event->place.incarnation, event->place.offset, event->use);
        break;
      case Event::Kind::kWrite:
        Forget(event->place);
        break;
      case Event::Kind::kCopies:
        CopyBack(copies_[event->copies]);
        break;
    }
  }
  events_ = {};
  copies_ = {};
}

// An earlier use counts more than a later one.
void FloatValues::Apply(std::int64_t incarnation, std::int64_t offset, Use use) {
  const auto [known, added] = uses_[incarnation].try_emplace(offset, use);
  if (!added && !use.weak) {
    known->second = use;
  }
}

void FloatValues::Forget(const Place& place) {
  if (const auto known = uses_.find(place.incarnation); known != uses_.end()) {
    Uses& uses = known->second;
    uses.erase(uses.lower_bound(place.offset), uses.lower_bound(place.offset + place.elements));
  }
}

void FloatValues::CopyBack(const std::vector<std::pair<Place, Place>>& copies) {
  struct Found {
    std::int64_t incarnation, offset;
    Use use;
  };
  std::vector<Found> found;
  for (const auto& [source, result] : copies) {
    const auto known = uses_.find(result.incarnation);
    if (known == uses_.end()) {
      continue;
    }
    const std::int64_t end = result.offset + std::min(source.elements, result.elements);
    for (auto at = known->second.lower_bound(result.offset);
         at != known->second.end() && at->first < end; ++at) {
      found.push_back({source.incarnation, at->first - result.offset + source.offset, at->second});
    }
  }
  for (const auto& [source, result] : copies) {
    Forget(result);
  }
  for (const Found& use : found) {
    Apply(use.incarnation, use.offset, use.use);
  }
}

std::vector<std::pair<std::int64_t, FloatRange>> FloatValues::RangesOf(
    std::int64_t incarnation) const {
  const auto known = uses_.find(incarnation);
  if (known == uses_.end() || known->second.empty()) {
    return {{0, FloatRange()}};
  }
  std::vector<std::pair<std::int64_t, FloatRange>> ranges;
  for (const auto& [offset, use] : known->second) {
    ranges.emplace_back(offset, use.range);
  }
  ranges.front().first = 0;  // a slice that begins later is used as all before it
  return ranges;
}

double FloatValues::NumberOf(std::int64_t incarnation) const {
  const auto known = numbers_.find(incarnation);
  return known == numbers_.end() ? 1 : known->second;
}

}  // namespace reprise
