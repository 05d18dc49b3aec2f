#include "predict/rescale/tensors/shards.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/operators.h"
#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {
namespace {

constexpr std::string_view kCat = "aten::cat";

// Those that keep an element an element.
bool WorksElementByElement(OpClass op_class) {
  switch (op_class) {
    case OpClass::kElementwise:
    case OpClass::kReduction:
    case OpClass::kNorm:
    case OpClass::kCopy:
    case OpClass::kFill:
    case OpClass::kMemcpy:
    case OpClass::kRandom:
    case OpClass::kOptimizer:
    case OpClass::kMetadata:
    case OpClass::kHost:
    case OpClass::kOther:
      return true;
    default:
      return false;
  }
}

}  // namespace

const DividedAmong* ShardedTensors::DivisionOf(const TensorDesc& tensor) const {
  if (tensor.shape.empty()) {
    return nullptr;
  }
  if (const auto whole = whole_.find(tensor.incarnation); whole != whole_.end()) {
    return &whole->second;
  }
  const auto part = parts_.find({tensor.incarnation, tensor.offset, tensor.elements});
  return part == parts_.end() ? nullptr : &part->second;
}

const ShardedTensors::Rows* ShardedTensors::RowsOf(const TensorDesc& tensor) const {
  const auto found = rows_.find(tensor.incarnation);
  if (tensor.shape.size() != 2 || found == rows_.end()) {
    return nullptr;
  }
  const Rows& rows = found->second;
  const bool is_view = tensor.shape[0] == rows.division.from &&
                       rows.columns.contains(tensor.shape[1]) &&
                       (rows.is_buffer || rows.views.contains(tensor.tensor_id));
  return is_view ? &rows : nullptr;
}

std::optional<DividedAmong> ShardedTensors::DivisionOfAll(const Node& node) const {
  std::optional<DividedAmong> division;
  bool all = true;
  for (const ValueList* const values : {&node.inputs, &node.outputs}) {
    ForEachTensor(*values, [&](const TensorDesc& tensor) {
      const DividedAmong* const own = DivisionOf(tensor);
      all = all && own != nullptr;
      division = own == nullptr ? division : std::optional(*own);
    });
  }
  return all ? division : std::nullopt;
}

bool ShardedTensors::Add(const TensorDesc& tensor, const DividedAmong& division) {
  if (tensor.shape.empty() || DivisionOf(tensor) != nullptr) {
    return false;
  }
  const auto extent = extents_.find(tensor.incarnation);
  if (tensor.offset == 0 && extent != extents_.end() && extent->second == tensor.elements) {
    whole_.emplace(tensor.incarnation, division);
  } else {
    parts_.emplace(PartKey{tensor.incarnation, tensor.offset, tensor.elements}, division);
    // A copy of a buffer of all parts.
    if (extent != extents_.end() && extent->second == tensor.elements * division.from) {
      AddRows(tensor.incarnation, tensor.elements, division, true);
    }
  }
  return true;
}

bool ShardedTensors::AddRows(std::int64_t storage, std::int64_t row, const DividedAmong& division,
                             bool is_buffer) {
  Rows& rows = rows_.try_emplace(storage, Rows{division, {}, is_buffer, {}}).first->second;
  return rows.columns.insert_or_assign(row, RowAfter(row, division)).second;
}

std::int64_t ShardedTensors::Divided(std::int64_t elements, const DividedAmong& division) {
  return (elements * division.from + division.to - 1) / division.to;
}

// Of a shard that is a storage of its own. Whole rows of the parameter, however it is looked at.
std::int64_t ShardedTensors::ElementsAfter(const TensorDesc& tensor,
                                           const DividedAmong& division) const {
  const auto largest = largest_rows_.find(tensor.incarnation);
  if (largest == largest_rows_.end() || largest->second.first != tensor.elements) {
    return RowAfter(tensor.elements, division);
  }
  const std::int64_t row = largest->second.second;
  return Divided(tensor.elements / row, division) * row;
}

std::int64_t ShardedTensors::RowAfter(std::int64_t elements, const DividedAmong& division) const {
  const auto packed = packed_.find(elements);
  return packed == packed_.end() ? Divided(elements, division) : packed->second.elements_after;
}

void ShardedTensors::Measure(const Node& node, const std::optional<DividedAmong>& division) {
  for (const ValueList* const values : {&node.inputs, &node.outputs}) {
    ForEachTensor(*values, [this](const TensorDesc& tensor) {
      std::int64_t& extent = extents_[tensor.incarnation];
      extent = std::max(extent, tensor.offset + ExtentElements(tensor));
      if (tensor.shape.size() > 1 && tensor.shape[0] > 0) {
        auto& largest = largest_rows_[tensor.incarnation];
        largest = std::max(largest, {tensor.elements, tensor.elements / tensor.shape[0]});
      }
    });
  }
  if (!division) {
    return;
  }
  const bool gathers = node.comm->kind == CommKind::kAllGather;
  ForEachTensor(gathers ? node.inputs : node.outputs, [&](const TensorDesc& tensor) {
    parts_.emplace(PartKey{tensor.incarnation, tensor.offset, tensor.elements}, *division);
  });
  ForEachTensor(gathers ? node.outputs : node.inputs, [&](const TensorDesc& tensor) {
    AddRows(tensor.incarnation, tensor.elements / division->from, *division, true);
  });
}

void ShardedTensors::EndMeasure() {
  std::erase_if(parts_, [this](const auto& part) {
    const auto& [storage, offset, elements] = part.first;
    const bool is_whole = offset == 0 && extents_[storage] == elements;
    if (is_whole) {
      whole_.emplace(storage, part.second);
    }
    return is_whole;
  });
}

// Parameters' shards are packed one behind the other: the only place that says in which order.
Result<bool> ShardedTensors::FollowCopyIn(const Node& node) {
  const TensorDesc* const part = node.outputs.empty() ? nullptr : node.outputs[0].AsTensor();
  const DividedAmong* const known = part == nullptr ? nullptr : DivisionOf(*part);
  if (known == nullptr || node.inputs.empty()) {
    return false;
  }
  const DividedAmong division = *known;
  bool found = false;
  PackedShard packed;
  std::int64_t offset = 0;
  bool pads = false;
  ForEachTensor({node.inputs[0]}, [&](const TensorDesc& tensor) {
    found = Add(tensor, division) || found;
    const std::int64_t after = ElementsAfter(tensor, division);
    packed.pieces[offset] = {tensor.elements, packed.elements_after, after};
    packed.elements_after += after;
    offset += tensor.elements;
    pads = pads || tensor.elements * division.from % division.to != 0;
  });
  if (offset != part->elements || packed.pieces.size() < 2) {
    return found;
  }
  const auto [at, added] = packed_.try_emplace(offset, packed);
  if (!added && pads && at->second != packed) {
    return BadInput(fmt::format(
        "node {} ({}): two shards of {} elements have parts of other sizes, which {} ranks do not "
        "divide evenly: which one a transfer moves is not known",
        node.id, OperatorOf(node), offset, division.to));
  }
  for (auto& [storage, rows] : rows_) {
    if (const auto column = rows.columns.find(offset); added && column != rows.columns.end()) {
      column->second = packed.elements_after;
    }
  }
  return found || added;
}

bool ShardedTensors::FollowCopyOut(const Node& node) {
  const TensorDesc* const all = node.inputs.empty() ? nullptr : node.inputs[0].AsTensor();
  const Rows* const rows = all == nullptr ? nullptr : RowsOf(*all);
  if (rows == nullptr) {
    return false;
  }
  const DividedAmong division = rows->division;
  const auto packed = packed_.find(all->shape[1]);
  bool found = false;
  std::int64_t offset = 0;
  const auto add = [&](const TensorDesc& tensor) {
    if (tensor.shape.size() != 2 || tensor.shape[0] != division.from) {
      return;
    }
    found = AddRows(tensor.incarnation, tensor.shape[1], division, false) || found;
    rows_.at(tensor.incarnation).views.insert(tensor.tensor_id);
    if (packed != packed_.end()) {
      const auto piece = packed->second.pieces.find(offset);
      if (piece != packed->second.pieces.end()) {
        rows_.at(tensor.incarnation).columns[tensor.shape[1]] = piece->second.elements_after;
      }
    }
    offset += tensor.shape[1];
  };
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    ForEachTensor({node.inputs[i]}, add);
  }
  ForEachTensor(node.outputs, add);
  return found;
}

// Shards one behind the other are one.
bool ShardedTensors::FollowJoined(const Node& node) {
  const ValueList* const parts = node.inputs.empty() ? nullptr : node.inputs[0].AsList();
  if (parts == nullptr || parts->empty()) {
    return false;
  }
  const DividedAmong* division = nullptr;
  for (const Value& part : *parts) {
    const TensorDesc* const tensor = part.AsTensor();
    division = tensor == nullptr ? nullptr : DivisionOf(*tensor);
    if (division == nullptr) {
      return false;
    }
  }
  bool found = false;
  ForEachTensor(node.outputs, [&, of_parts = *division](const TensorDesc& tensor) {
    found = Add(tensor, of_parts) || found;
  });
  return found;
}

Result<bool> ShardedTensors::FollowAlike(const Node& node) {
  bool found = false;
  for (const std::vector<const TensorDesc*>& together : TogetherIn(node)) {
    const auto shard = std::ranges::find_if(
        together, [this](const TensorDesc* tensor) { return DivisionOf(*tensor) != nullptr; });
    if (shard == together.end()) {
      continue;
    }
    if (!WorksElementByElement(node.op_class)) {
      return IsNotKnown(node, **shard);
    }
    const DividedAmong division = *DivisionOf(**shard);
    for (const TensorDesc* const tensor : together) {
      if (tensor->elements == (*shard)->elements) {
        found = Add(*tensor, division) || found;
      }
    }
  }
  return found;
}

Result<bool> ShardedTensors::Follow(const Node& node) {
  if (node.comm) {
    return false;
  }
  const std::string& name = OperatorOf(node);
  if (name == kCopyIn) {
    return FollowCopyIn(node);
  }
  if (IsCopyOut(node)) {
    return FollowCopyOut(node);
  }
  if (name == kCat) {
    return FollowJoined(node);
  }
  return name.starts_with(kChunkCat) ? Result<bool>(false) : FollowAlike(node);
}

// Reductions and views may have fewer elements; anything else that works on a shard works on
// shards.
Status ShardedTensors::CheckAlike(const Node& node) const {
  const std::string& name = OperatorOf(node);
  if (node.comm || name == kCopyIn || IsCopyOut(node) || node.op_class == OpClass::kMetadata ||
      node.op_class == OpClass::kReduction || node.op_class == OpClass::kNorm) {
    return {};
  }
  for (const std::vector<const TensorDesc*>& together : TogetherIn(node)) {
    const auto is_shard = [this](const TensorDesc* tensor) {
      return DivisionOf(*tensor) != nullptr;
    };
    const auto shard = std::ranges::find_if(together, is_shard);
    const bool mixed =
        shard != together.end() && std::ranges::any_of(together, [&](const TensorDesc* tensor) {
          return tensor->elements > 1 && !is_shard(tensor);
        });
    if (mixed) {
      return IsNotKnown(node, **shard);
    }
  }
  return {};
}

}  // namespace reprise
