#include "replayer/memory/input_values.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "kernels/kernel.h"
#include "kernels/ops/copies/copy_plan.h"

namespace reprise {
namespace {

bool IsSameKind(const TensorDesc& a, const TensorDesc& b) {
  const auto counts = [](DType dtype) { return IsIntegral(dtype) && dtype != DType::kBool; };
  return a.dtype == b.dtype || (IsFloating(a.dtype) && IsFloating(b.dtype)) ||
         (counts(a.dtype) && counts(b.dtype));
}

// Embedding bags begin where their offsets say: (weight, indices, offsets, …).
bool HasBagOffsets(std::string_view name) {
  return name == "aten::_embedding_bag" || name == "aten::_embedding_bag_forward_only";
}

}  // namespace

void InputValues::Note(OpClass op_class, const OpCall& call,
                       const std::function<bool(std::int64_t)>& existed) {
  NoteIndices(call);
  floats_.Note(op_class, call, existed);
  NoteFlow(op_class, call);
}

void InputValues::NoteTransfer(const OpCall& call) {
  std::vector<FloatValues::Copied> copies;
  for (std::size_t i = 0; i < std::min(call.inputs.size(), call.outputs.size()); ++i) {
    const TensorDesc* sent = call.InputTensor(i);
    const TensorDesc* received = call.OutputTensor(i);
    if (sent != nullptr && received != nullptr) {
      AddFlow(*sent, *received, copies);
    }
  }
  floats_.NoteCopies(copies);
}

void InputValues::AddFlow(const TensorDesc& source, const TensorDesc& result,
                          std::vector<FloatValues::Copied>& copies) {
  const bool same_place =
      source.incarnation == result.incarnation && source.offset == result.offset;
  if (!IsSameKind(source, result) || same_place) {
    return;
  }
  if (IsFloating(source.dtype)) {
    copies.push_back({source, result});
    return;
  }
  Flow flow;
  flow.step.operand = source.incarnation;
  flow.step.result = result.incarnation;
  flows_.push_back(flow);
}

void InputValues::NoteIndices(const OpCall& call) {
  const auto bounds = IndexBounds(call);
  for (const auto& [incarnation, bound] : bounds) {
    NarrowBound(incarnation, bound);
  }
  for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
    const auto bound = bounds.find(tensor->incarnation);
    // As many as there are to choose from: sorted rows, shuffled samples.
    if (bound != bounds.end() && tensor->shape.size() == 1 && tensor->elements > 1 &&
        tensor->shape.front() == bound->second) {
      orders_.try_emplace(tensor->incarnation, IndexOrder::kPermutation);
    }
  }
  const TensorDesc* indices = call.InputTensor(1);
  const TensorDesc* offsets = call.InputTensor(2);
  if (HasBagOffsets(call.name) && indices != nullptr && offsets != nullptr) {
    NarrowBound(offsets->incarnation, std::max<std::int64_t>(ElementCount(indices->shape), 1));
    orders_[offsets->incarnation] = IndexOrder::kRising;
  }
}

void InputValues::NarrowBound(std::int64_t incarnation, std::int64_t bound) {
  std::int64_t& known = bounds_[incarnation];
  known = known == 0 ? bound : std::min(known, bound);
}

void InputValues::NoteFlow(OpClass op_class, const OpCall& call) {
  integers_.Note(call);
  if (const auto step = IntegerValues::StepOf(call)) {
    Flow flow;
    flow.step = *step;
    flow.computed = true;
    flows_.push_back(flow);
    return;
  }
  const TensorDesc* out = call.OutputTensor(0);
  static const std::set<std::string_view> pass_through = {"aten::copy_",
                                                          "aten::index",
                                                          "aten::index_select",
                                                          "aten::gather",
                                                          "aten::roll",
                                                          "aten::repeat",
                                                          "aten::repeat_interleave",
                                                          "aten::flip",
                                                          "aten::constant_pad_nd",
                                                          "aten::masked_fill",
                                                          "aten::masked_fill_",
                                                          "aten::sort",
                                                          "aten::masked_select",
                                                          "aten::topk"};
  static const std::set<std::string_view> joins = {"aten::cat", "aten::stack", "aten::where"};
  std::vector<FloatValues::Copied> copies;
  const bool all = joins.contains(call.name);
  if (!all && !pass_through.contains(call.name)) {
    // Lists of tensors that are brought together or apart.
    const auto plan = op_class == OpClass::kCopy ? PlanCopy(call) : std::nullopt;
    for (std::size_t i = 0; plan && i < plan->pieces.size(); ++i) {
      AddFlow(plan->pieces[i].src, plan->pieces[i].dst, copies);
    }
    floats_.NoteCopies(copies);
    return;
  }
  if (out == nullptr) {
    return;
  }
  for (const TensorDesc* in : TensorsIn(call.inputs)) {
    if (IsSameKind(*in, *out) && in->incarnation != out->incarnation) {
      AddFlow(*in, *out, copies);
      if (!all) {
        break;  // the first tensor is the source; the others are indices
      }
    }
  }
  floats_.NoteCopies(copies);
}

void InputValues::Finish() {
  floats_.Finish();
  for (auto it = flows_.rbegin(); it != flows_.rend(); ++it) {
    const IntegerValues::Step& step = it->step;
    const auto bound = bounds_.find(step.result);
    if (bound == bounds_.end()) {
      continue;
    }
    const std::int64_t limit = bound->second;  // narrowing may move it
    if (it->computed) {
      numbers_[step.number] = integers_.NumberFor(step, limit);
    }
    if (!it->computed || !integers_.IsKnown(step.operand)) {
      NarrowBound(step.operand, limit);
    }
  }
}

void InputValues::ApplyRecorded(StorageLife& life) const {
  const auto found = std::lower_bound(recorded_.begin(), recorded_.end(), life.incarnation,
                                      [](const IndexRange& range, std::int64_t incarnation) {
                                        return range.incarnation < incarnation;
                                      });
  if (found == recorded_.end() || found->incarnation != life.incarnation || found->high < 0) {
    return;
  }
  const std::int64_t bound = std::min<std::int64_t>(found->high, INT64_MAX - 1) + 1;
  life.index_bound = life.index_bound > 0 ? std::min(life.index_bound, bound) : bound;
  const std::int64_t low = std::max<std::int64_t>(found->low, 0);
  life.index_low = low < life.index_bound ? low : 0;
}

void InputValues::Apply(StorageLife& life) const {
  if (const auto bound = bounds_.find(life.incarnation); bound != bounds_.end()) {
    life.index_bound = bound->second;
  }
  if (const auto order = orders_.find(life.incarnation); order != orders_.end()) {
    life.order = order->second;
  }
  if (const auto number = numbers_.find(life.incarnation); number != numbers_.end()) {
    life.number = number->second;
  }
  ApplyRecorded(life);
  life.floats = floats_.RangesOf(life.incarnation);
  life.float_number = floats_.NumberOf(life.incarnation);
}

}  // namespace reprise
