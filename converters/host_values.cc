#include "converters/host_values.h"

#include <cmath>
#include <limits>
#include <optional>
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

element EmptyList() {
  static simdjson::dom::parser parser;
  static const element empty = parser.parse(std::string("[]")).value_unsafe();
  return empty;
}

// One of the parallel lists; absent or of another type: empty.
class Column {
 public:
  explicit Column(const ArgumentLists::Member& list) {
    if (list.get(list_) == simdjson::SUCCESS) {
      at_ = list_.begin();
      left_ = size_ = list_.size();
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  std::optional<element> Next() {
    if (left_ == 0) {
      return std::nullopt;
    }
    --left_;
    const element out = *at_;
    ++at_;
    return out;
  }

 private:
  array list_;
  array::iterator at_;
  std::size_t size_ = 0, left_ = 0;
};

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

// Of a value whose type says that it is one: five numbers at least, the device is optional.
bool IsTensor(element value) {
  constexpr std::size_t kNumbers = 5;
  array items;
  if (value.get(items) != simdjson::SUCCESS || items.size() < kNumbers) {
    return false;
  }
  std::size_t i = 0;
  for (const element item : items) {
    if (i++ < kNumbers && !item.is_int64() && !item.is_uint64()) {
      return false;
    }
  }
  return true;
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
    return IsTensor(value) ? Value{ParseTensor(value, shape, strides, type)} : Value{};
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

ArgumentLists NestedLists(element arguments) {
  return {arguments["values"], arguments["shapes"], arguments["types"], arguments["strides"]};
}

ValueList ParseArguments(const ArgumentLists& lists, bool& odd) {
  ValueList out;
  array values;
  if (lists.values.get(values) != simdjson::SUCCESS) {
    odd = true;
    return out;
  }
  Column shapes(lists.shapes);
  Column strides(lists.strides);
  Column types(lists.types);
  // Strides may be fewer: those of a Triton kernel's grid and stream are not written.
  odd = odd || shapes.size() < values.size() || types.size() < values.size();
  out.reserve(values.size());
  for (const element value : values) {
    std::string_view type;
    if (const auto next = types.Next()) {
      type = TextOrEmpty(*next);
    }
    out.push_back(ParseValue(value, shapes.Next().value_or(EmptyList()),
                             strides.Next().value_or(EmptyList()), type));
  }
  return out;
}

}  // namespace reprise
