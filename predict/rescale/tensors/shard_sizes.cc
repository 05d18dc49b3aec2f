// ShardedTensors: sizes after.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "predict/rescale/tensors/changed_sizes.h"
#include "predict/rescale/tensors/shard_nodes.h"
#include "predict/rescale/tensors/shards.h"

namespace reprise {
namespace {

std::optional<std::vector<std::int64_t>> IntegersIn(const Value& value) {
  const ValueList* const list = value.AsList();
  if (list == nullptr || list->empty()) {
    return std::nullopt;
  }
  std::vector<std::int64_t> integers;
  for (const Value& one : *list) {
    const auto* const integer = std::get_if<std::int64_t>(&one.data);
    if (integer == nullptr) {
      return std::nullopt;
    }
    integers.push_back(*integer);
  }
  return integers;
}

Value ListOf(const std::vector<std::int64_t>& integers) {
  ValueList list;
  list.reserve(integers.size());
  for (const std::int64_t integer : integers) {
    list.push_back(Value{integer});
  }
  return Value{std::move(list)};
}

}  // namespace

// A view of all parts by rows, or the buffer itself.
bool ShardedTensors::ResizeRows(TensorDesc& tensor) const {
  if (const Rows* const rows = RowsOf(tensor)) {
    const bool contiguous = IsContiguous(tensor);
    tensor.shape = {rows->division.to, rows->columns.at(tensor.shape[1])};
    tensor.strides = contiguous ? ContiguousStrides(tensor.shape) : tensor.strides;
    tensor.elements = ElementCount(tensor.shape);
    return true;
  }
  const auto found = rows_.find(tensor.incarnation);
  if (found == rows_.end() || !found->second.is_buffer || tensor.shape.size() != 1 ||
      tensor.offset != 0) {
    return false;
  }
  const Rows& rows = found->second;
  const auto column = rows.columns.find(tensor.elements / rows.division.from);
  const bool is_buffer = column != rows.columns.end() && tensor.elements % rows.division.from == 0;
  const std::int64_t after = is_buffer ? column->second * rows.division.to : tensor.elements;
  if (after == tensor.elements) {
    return false;
  }
  tensor.elements = tensor.shape[0] = after;
  return true;
}

Status ShardedTensors::ResizeShard(const Node& node, TensorDesc& tensor,
                                   const DividedAmong& division) const {
  const bool contiguous = IsContiguous(tensor);
  const std::int64_t extent = extents_.at(tensor.incarnation);
  const auto packed = packed_.find(extent);
  std::int64_t elements = -1;
  if (packed != packed_.end() && whole_.contains(tensor.incarnation) && tensor.elements != extent) {
    const auto piece = packed->second.pieces.find(tensor.offset);
    if (piece != packed->second.pieces.end() && piece->second.elements == tensor.elements) {
      elements = piece->second.elements_after;
      tensor.offset = piece->second.offset_after;
    }
  } else if (tensor.elements == extent) {
    elements = ElementsAfter(tensor, division);
  } else if (rows_.contains(tensor.incarnation) && tensor.offset % tensor.elements == 0) {
    // This rank's part of a buffer of all.
    elements = RowAfter(tensor.elements, division);
    tensor.offset = tensor.offset / tensor.elements * elements;
  }
  if (elements < 0) {
    if (tensor.offset * division.from % division.to != 0) {
      return BadInput(fmt::format(
          "node {} ({}): a tensor [{}] at element {} is a part of a shard that {} ranks do not "
          "divide evenly: where it lies among them is not known",
          node.id, OperatorOf(node), fmt::join(tensor.shape, ", "), tensor.offset, division.to));
    }
    tensor.offset = tensor.offset * division.from / division.to;
  }
  tensor.shape[0] =
      tensor.shape.size() == 1 && elements >= 0 ? elements : Divided(tensor.shape[0], division);
  tensor.elements = ElementCount(tensor.shape);
  if (contiguous) {
    tensor.strides = ContiguousStrides(tensor.shape);
  }
  return {};
}

Status ShardedTensors::ResizeAll(const Node& node, ValueList& values, bool& changed) const {
  for (Value& value : values) {
    if (TensorDesc* const tensor = value.AsTensor()) {
      const DividedAmong* const division = DivisionOf(*tensor);
      if (ResizeRows(*tensor)) {
        changed = true;
      } else if (division != nullptr && tensor->elements > 0) {
        REPRISE_TRY(ResizeShard(node, *tensor, *division));
        changed = true;
      }
    } else if (ValueList* const list = value.AsList()) {
      REPRISE_TRY(ResizeAll(node, *list, changed));
    }
  }
  return {};
}

// Elements of each parameter's part of a shard of `packed` elements.
void ShardedTensors::ChangeSizes(Value& sizes, std::int64_t packed,
                                 const DividedAmong& division) const {
  auto integers = IntegersIn(sizes);
  if (!integers) {
    return;
  }
  const auto known = packed_.find(packed);
  std::int64_t offset = 0;
  for (std::int64_t& size : *integers) {
    const std::int64_t before = size;
    size = Divided(size, division);
    if (known != packed_.end()) {
      const auto piece = known->second.pieces.find(offset);
      size = piece == known->second.pieces.end() ? size : piece->second.elements_after;
    }
    offset += before;
  }
  sizes = ListOf(*integers);
}

// The gradients of whole parameters become a row for each rank: only their number is an argument.
bool ShardedTensors::ChangeChunks(Node& node) const {
  const Rows* rows = nullptr;
  for (const ValueList* const values : {&node.inputs, &node.outputs}) {
    ForEachTensor(*values, [&](const TensorDesc& tensor) {
      const auto found = rows_.find(tensor.incarnation);
      rows = found == rows_.end() ? rows : &found->second;
    });
  }
  auto* const chunks =
      node.inputs.size() > 2 ? std::get_if<std::int64_t>(&node.inputs[2].data) : nullptr;
  if (rows == nullptr || chunks == nullptr || *chunks != rows->division.from) {
    return false;
  }
  *chunks = rows->division.to;
  return true;
}

Result<bool> ShardedTensors::Change(Node& node) const {
  if (empty()) {
    return false;
  }
  REPRISE_TRY(CheckAlike(node));
  const std::string& name = OperatorOf(node);
  const ValueList inputs = node.inputs, outputs = node.outputs;
  // Before the tensors change: the shard, or the row of a rank, whose parts are among the
  // arguments.
  std::int64_t packed = 0;
  std::optional<DividedAmong> division;
  const auto& beside = name == kCopyIn ? outputs : node.inputs;
  const TensorDesc* const tensor = beside.empty() ? nullptr : beside[0].AsTensor();
  if (tensor != nullptr && name == kCopyIn && DivisionOf(*tensor) != nullptr) {
    packed = tensor->elements;
    division = *DivisionOf(*tensor);
  } else if (tensor != nullptr && IsCopyOut(node) && RowsOf(*tensor) != nullptr) {
    packed = tensor->shape[1];
    division = RowsOf(*tensor)->division;
  }
  bool changed = false;
  REPRISE_TRY(ResizeAll(node, node.inputs, changed));
  REPRISE_TRY(ResizeAll(node, node.outputs, changed));
  if (division && name == kCopyIn && node.inputs.size() > 3) {
    ChangeSizes(node.inputs[2], packed, *division);
    if (auto* const all = std::get_if<std::int64_t>(&node.inputs[3].data)) {
      *all = RowAfter(packed, *division);
    }
  } else if (division && node.inputs.size() > 1) {
    ChangeSizes(node.inputs[1], packed, *division);
  } else if (name.starts_with(kChunkCat)) {
    changed = ChangeChunks(node) || changed;
  } else if (changed) {
    ChangeSizesAmongArguments(node, inputs, outputs);
  }
  return changed;
}

}  // namespace reprise
