#include "predict/rescale/tensors/changed_sizes.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {
namespace {

struct TensorChange {
  const TensorDesc* before = nullptr;
  const TensorDesc* after = nullptr;
};

// Of those that are there before and after.
std::vector<TensorChange> ChangesOf(const ValueList& before, const ValueList& after) {
  std::vector<TensorChange> changes;
  const std::vector<const TensorDesc*> old = TensorsIn(before), now = TensorsIn(after);
  for (std::size_t i = 0; i < std::min(old.size(), now.size()); ++i) {
    changes.push_back({old[i], now[i]});
  }
  return changes;
}

// Of integers alone; else null.
ValueList* ListOfIntegersIn(Value& value) {
  ValueList* const list = value.AsList();
  const bool integers =
      list != nullptr && !list->empty() && std::ranges::all_of(*list, [](const Value& one) {
        return std::holds_alternative<std::int64_t>(one.data);
      });
  return integers ? list : nullptr;
}

std::int64_t& IntegerAt(ValueList& list, std::size_t i) {
  return std::get<std::int64_t>(list[i].data);
}

// -1 stands for what follows from the rest.
bool Repeats(ValueList& list, const std::vector<std::int64_t>& numbers) {
  if (list.size() != numbers.size()) {
    return false;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (IntegerAt(list, i) != numbers[i] && IntegerAt(list, i) != -1) {
      return false;
    }
  }
  return true;
}

bool Replace(ValueList& list, const std::vector<std::int64_t>& before,
             const std::vector<std::int64_t>& after) {
  if (before == after || !Repeats(list, before)) {
    return false;
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (IntegerAt(list, i) != -1) {
      IntegerAt(list, i) = after[i];
    }
  }
  return true;
}

void ChangeListOf(ValueList& list, const std::vector<TensorChange>& results,
                  const std::vector<TensorChange>& operands) {
  for (const std::vector<TensorChange>* const changes : {&results, &operands}) {
    for (const TensorChange& change : *changes) {
      if (Replace(list, change.before->shape, change.after->shape) ||
          Replace(list, change.before->strides, change.after->strides)) {
        return;
      }
    }
  }
}

// Sizes of several results in the dimension that the next argument names.
void ChangePartsOf(ValueList& list, const Value& dim_given,
                   const std::vector<TensorChange>& results) {
  const auto dim = dim_given.AsNumber<std::int64_t>(0);
  for (std::size_t i = 0; i < std::min(list.size(), results.size()); ++i) {
    const std::vector<std::int64_t>& shape = results[i].after->shape;
    const std::int64_t at = dim < 0 ? dim + static_cast<std::int64_t>(shape.size()) : dim;
    if (at >= 0 && at < static_cast<std::int64_t>(shape.size())) {
      IntegerAt(list, i) = shape[static_cast<std::size_t>(at)];
    }
  }
}

std::int64_t* IntegerAmong(Node& node, std::size_t i) {
  return i < node.inputs.size() ? std::get_if<std::int64_t>(&node.inputs[i].data) : nullptr;
}

// Numbers of elements along one dimension of that tensor: places, lengths.
void ChangeAlong(Node& node, const TensorChange& whole, std::size_t dim_at,
                 std::initializer_list<std::size_t> numbers_at) {
  const std::int64_t* const given = IntegerAmong(node, dim_at);
  const auto rank = static_cast<std::int64_t>(whole.before->shape.size());
  const std::int64_t dim = given == nullptr ? 0 : *given < 0 ? *given + rank : *given;
  if (dim < 0 || dim >= rank) {
    return;
  }
  const std::int64_t before = whole.before->shape[static_cast<std::size_t>(dim)];
  const std::int64_t after = whole.after->shape[static_cast<std::size_t>(dim)];
  for (const std::size_t at : numbers_at) {
    std::int64_t* const number = IntegerAmong(node, at);
    if (number != nullptr && before > 0 && *number > 0 && *number <= before &&
        *number * after % before == 0) {
      *number = *number * after / before;
    }
  }
}

void ChangeIfEqual(Node& node, std::size_t at, std::int64_t before, std::int64_t after) {
  std::int64_t* const number = IntegerAmong(node, at);
  if (number != nullptr && *number == before) {
    *number = after;
  }
}

// How often each dimension comes, of as many dimensions before and after.
void ChangeRepeats(Node& node, const TensorChange& x, const TensorChange& y) {
  ValueList* const list = node.inputs.size() > 1 ? ListOfIntegersIn(node.inputs[1]) : nullptr;
  const std::size_t dims = y.after->shape.size();
  if (list == nullptr || list->size() != dims || x.after->shape.size() != dims) {
    return;
  }
  for (std::size_t i = 0; i < dims; ++i) {
    if (x.after->shape[i] > 0) {
      IntegerAt(*list, i) = y.after->shape[i] / x.after->shape[i];
    }
  }
}

}  // namespace

void ChangeSizesAmongArguments(Node& node, const ValueList& inputs, const ValueList& outputs) {
  const std::vector<TensorChange> operands = ChangesOf(inputs, node.inputs);
  const std::vector<TensorChange> results = ChangesOf(outputs, node.outputs);
  const std::string_view name = OperatorOf(node);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    ValueList* const list = ListOfIntegersIn(node.inputs[i]);
    if (list != nullptr && name.find("split_with_sizes") != std::string_view::npos) {
      ChangePartsOf(*list, i + 1 < node.inputs.size() ? node.inputs[i + 1] : Value{}, results);
    } else if (list != nullptr) {
      ChangeListOf(*list, results, operands);
    }
  }
  if (results.empty()) {
    return;
  }
  const TensorChange& y = results[0];
  if (name == "aten::arange" || name == "aten::randperm") {
    ChangeIfEqual(node, 0, y.before->elements, y.after->elements);
  } else if (name == "aten::slice_backward") {
    ChangeAlong(node, y, 2, {3, 4});
  }
  if (operands.empty()) {
    return;
  }
  const TensorChange& x = operands[0];
  if (name == "aten::slice" || name == "aten::narrow") {
    ChangeAlong(node, x, 1, {2, 3});
  } else if (name == "aten::split") {
    ChangeAlong(node, y, 2, {1});
  } else if (name == "aten::chunk" || name == "aten::tensor_split") {
    ChangeIfEqual(node, 1, static_cast<std::int64_t>(TensorsIn(outputs).size()),
                  static_cast<std::int64_t>(TensorsIn(node.outputs).size()));
  } else if (name == "aten::repeat") {
    ChangeRepeats(node, x, y);
  } else if (name == "aten::as_strided") {
    ChangeIfEqual(node, 3, y.before->offset, y.after->offset);
  } else if (name.starts_with("aten::embedding") && name.ends_with("backward") &&
             !y.before->shape.empty()) {
    ChangeIfEqual(node, 2, y.before->shape[0], y.after->shape[0]);
  }
}

}  // namespace reprise
