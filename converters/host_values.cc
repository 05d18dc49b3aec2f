#include "converters/host_values.h"

#include <cmath>
#include <limits>
#include <string_view>

namespace reprise {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

// Reads "GenericList[Tensor(float),Int]" or "Tuple[Int,Bool]" member by member.
class TypeList {
 public:
  explicit TypeList(std::string_view type) {
    const std::size_t open = type.find('[');
    if (open != std::string_view::npos && type.ends_with(']')) {
      rest_ = type.substr(open + 1, type.size() - open - 2);
    }
  }

  std::string_view Next() {
    int depth = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      depth += (c == '[' || c == '(' || c == '<') ? 1 : (c == ']' || c == ')' || c == '>') ? -1 : 0;
      if (c == ',' && depth == 0) {
        const std::string_view type = rest_.substr(0, i);
        rest_.remove_prefix(i + 1);
        return type;
      }
    }
    return std::exchange(rest_, {});
  }

 private:
  std::string_view rest_;
};

std::int64_t IntegerOr0(element value) {
  std::int64_t out = 0;
  return value.get(out) == simdjson::SUCCESS ? out : 0;
}

std::string_view TextOrEmpty(element value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

std::vector<std::int64_t> Integers(element list) {
  std::vector<std::int64_t> out;
  array items;
  if (list.get(items) != simdjson::SUCCESS) {
    return out;
  }
  out.reserve(items.size());
  for (const element item : items) {
    std::int64_t value = 0;
    if (item.get(value) != simdjson::SUCCESS) {
      return {};
    }
    out.push_back(value);
  }
  return out;
}

bool LooksLikeTensor(element value) {
  array items;
  return value.get(items) == simdjson::SUCCESS && items.size() == 6 && items.at(5).is_string();
}

TensorDesc ParseTensor(element value, element shape, element strides, std::string_view type) {
  TensorDesc tensor;
  std::int64_t numbers[5] = {};
  std::size_t i = 0;
  for (const element item : array(value)) {
    if (i < 5) {
      numbers[i] = IntegerOr0(item);
    } else if (std::string_view device; item.get(device) == simdjson::SUCCESS) {
      tensor.device = device;
    }
    ++i;
  }
  tensor.tensor_id = numbers[0];
  tensor.storage_id = numbers[1];
  tensor.offset = numbers[2];
  tensor.elements = numbers[3];
  tensor.dtype = ParseDType(type);
  tensor.shape = Integers(shape);
  tensor.strides = Integers(strides);
  if (tensor.strides.size() != tensor.shape.size()) {
    tensor.strides = ContiguousStrides(tensor.shape);
  }
  return tensor;
}

Value ParseScalar(element value, std::string_view type) {
  switch (value.type()) {
    case simdjson::dom::element_type::BOOL:
      return {bool(value)};
    case simdjson::dom::element_type::INT64:
      if (type == "Double") {
        return {static_cast<double>(std::int64_t(value))};
      }
      return {std::int64_t(value)};
    case simdjson::dom::element_type::UINT64:
      return {static_cast<std::int64_t>(std::uint64_t(value))};
    case simdjson::dom::element_type::DOUBLE:
      return {double(value)};
    case simdjson::dom::element_type::STRING: {
      const std::string_view text = value;
      if (type == "Double" && (text == "inf" || text == "-inf" || text == "nan")) {
        const double inf = std::numeric_limits<double>::infinity();
        return {text == "nan" ? std::nan("") : text == "inf" ? inf : -inf};
      }
      // "<None>", "<Object>", "<Generator>", "<Storage>": a placeholder, not a string argument.
      if (type != "String" && text.starts_with('<') && text.ends_with('>')) {
        return {};
      }
      return {std::string(text)};
    }
    default:
      return {};
  }
}

Value ParseValue(element value, element shape, element strides, std::string_view type) {
  array items;
  if (value.get(items) != simdjson::SUCCESS) {
    return ParseScalar(value, type);
  }
  if (type.starts_with("Tensor") || (type.empty() && LooksLikeTensor(value))) {
    return LooksLikeTensor(value) ? Value{ParseTensor(value, shape, strides, type)} : Value{};
  }
  // Lists of lists carry lists of shapes; scalars inside carry empty ones.
  array shapes;
  array stride_lists;
  const bool has_shapes = shape.get(shapes) == simdjson::SUCCESS;
  const bool has_strides = strides.get(stride_lists) == simdjson::SUCCESS;
  auto next_shape = has_shapes ? shapes.begin() : array::iterator{};
  auto next_stride = has_strides ? stride_lists.begin() : array::iterator{};
  TypeList types(type);
  ValueList list;
  list.reserve(items.size());
  for (const element item : items) {
    element item_shape = shape;
    element item_stride = strides;
    if (has_shapes && next_shape != shapes.end()) {
      item_shape = *next_shape;
      ++next_shape;
    }
    if (has_strides && next_stride != stride_lists.end()) {
      item_stride = *next_stride;
      ++next_stride;
    }
    list.push_back(ParseValue(item, item_shape, item_stride, types.Next()));
  }
  return {std::move(list)};
}

}  // namespace

ValueList ParseArguments(element arguments) {
  ValueList out;
  array values;
  if (arguments["values"].get(values) != simdjson::SUCCESS) {
    return out;
  }
  array shapes;
  array strides;
  array types;
  const bool has_shapes = arguments["shapes"].get(shapes) == simdjson::SUCCESS;
  const bool has_strides = arguments["strides"].get(strides) == simdjson::SUCCESS;
  const bool has_types = arguments["types"].get(types) == simdjson::SUCCESS;
  auto shape = has_shapes ? shapes.begin() : values.begin();
  auto stride = has_strides ? strides.begin() : shape;
  auto type = has_types ? types.begin() : values.begin();
  out.reserve(values.size());
  for (const element value : values) {
    std::string_view type_name;
    if (has_types && type != types.end()) {
      type_name = TextOrEmpty(*type);
      ++type;
    }
    const element empty = value;
    out.push_back(ParseValue(value, has_shapes && shape != shapes.end() ? *shape : empty,
                             has_strides && stride != strides.end() ? *stride : empty, type_name));
    if (has_shapes && shape != shapes.end()) {
      ++shape;
    }
    if (has_strides && stride != strides.end()) {
      ++stride;
    }
  }
  return out;
}

}  // namespace reprise
