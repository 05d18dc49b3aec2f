#include "converters/host_arguments.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "converters/json_members.h"

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

template <typename Element>
struct ArrayOf {
  using Type = PlainArray;
};
template <>
struct ArrayOf<element> {
  using Type = array;
};
template <typename Element>
using Array = typename ArrayOf<Element>::Type;

// What stands for a list that is not there.
template <typename Element>
Element Nothing() {
  return {};
}
template <>
element Nothing() {
  static simdjson::dom::parser parser;
  static const element null = parser.parse(std::string("null")).value_unsafe();
  return null;
}

// One of the parallel lists; absent or of another type: empty.
template <typename Element>
class Column {
 public:
  template <typename Member>
  explicit Column(const Member& list) {
    if (list.get(list_) == simdjson::SUCCESS) {
      at_ = list_.begin();
      left_ = size_ = list_.size();
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  std::optional<Element> Next() {
    if (left_ == 0) {
      return std::nullopt;
    }
    --left_;
    const Element out = *at_;
    ++at_;
    return out;
  }

 private:
  Array<Element> list_;
  typename Array<Element>::iterator at_;
  std::size_t size_ = 0, left_ = 0;
};

template <typename Element>
std::vector<std::int64_t> Integers(const Element& list) {
  std::vector<std::int64_t> out;
  Array<Element> items;
  if (list.get(items) != simdjson::SUCCESS) {
    return out;
  }
  out.reserve(items.size());
  for (const Element item : items) {
    std::int64_t value = 0;
    if (item.get(value) != simdjson::SUCCESS) {
      return {};
    }
    out.push_back(value);
  }
  return out;
}

template <typename Element>
bool LooksLikeTensor(const Array<Element>& items) {
  constexpr std::size_t kDevice = 5;  // the last one
  std::size_t i = 0;
  for (const Element item : items) {
    if (i++ == kDevice) {
      return items.size() == kDevice + 1 && item.is_string();
    }
  }
  return false;
}

// Of a value whose type says that it is one: five numbers at least, the device is optional.
template <typename Element>
bool IsTensor(const Array<Element>& items) {
  constexpr std::size_t kNumbers = 5;
  if (items.size() < kNumbers) {
    return false;
  }
  std::size_t i = 0;
  for (const Element item : items) {
    if (i++ < kNumbers && !item.is_int64() && !item.is_uint64()) {
      return false;
    }
  }
  return true;
}

template <typename Element>
TensorDesc ParseTensor(const Array<Element>& items, const Element& shape, const Element& strides,
                       std::string_view type) {
  TensorDesc tensor;
  std::int64_t numbers[5] = {};
  std::size_t i = 0;
  for (const Element item : items) {
    if (i < 5) {
      numbers[i] = GetOr(item, std::int64_t{0});
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

Value ParseText(std::string_view text, std::string_view type) {
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

// Beyond int64, as the bits are.
std::int64_t WholeNumber(const element& value) {
  return static_cast<std::int64_t>(GetOr(value, std::uint64_t{0}));
}
std::int64_t WholeNumber(const PlainElement& /*value*/) { return 0; }  // there are none

template <typename Element>
Value ParseScalar(const Element& value, std::string_view type) {
  switch (value.type()) {
    case simdjson::dom::element_type::BOOL:
      return {GetOr(value, false)};
    case simdjson::dom::element_type::INT64: {
      const auto number = GetOr(value, std::int64_t{0});
      return type == "Double" ? Value{static_cast<double>(number)} : Value{number};
    }
    case simdjson::dom::element_type::UINT64:
      return {WholeNumber(value)};
    case simdjson::dom::element_type::DOUBLE:
      return {GetOr(value, 0.0)};
    case simdjson::dom::element_type::STRING:
      return ParseText(TextOr(value), type);
    default:
      return {};
  }
}

template <typename Element>
Value ParseValue(const Element& value, const Element& shape, const Element& strides,
                 std::string_view type) {
  Array<Element> items;
  if (value.get(items) != simdjson::SUCCESS) {
    return ParseScalar(value, type);
  }
  if (type.starts_with("Tensor") || (type.empty() && LooksLikeTensor<Element>(items))) {
    return IsTensor<Element>(items) ? Value{ParseTensor(items, shape, strides, type)} : Value{};
  }
  // Lists of lists carry lists of shapes; scalars inside carry empty ones.
  Column<Element> shapes(shape);
  Column<Element> stride_lists(strides);
  TypeList types(type);
  ValueList list;
  list.reserve(items.size());
  for (const Element item : items) {
    list.push_back(ParseValue(item, shapes.Next().value_or(shape),
                              stride_lists.Next().value_or(strides), types.Next()));
  }
  return {std::move(list)};
}

template <typename Element, typename Lists>
ValueList Parse(const Lists& lists, bool& odd) {
  ValueList out;
  Array<Element> values;
  if (lists.values.get(values) != simdjson::SUCCESS) {
    odd = true;
    return out;
  }
  Column<Element> shapes(lists.shapes);
  Column<Element> strides(lists.strides);
  Column<Element> types(lists.types);
  // Strides may be fewer: those of a Triton kernel's grid and stream are not written.
  odd = odd || shapes.size() < values.size() || types.size() < values.size();
  const Element nothing = Nothing<Element>();
  out.reserve(values.size());
  for (const Element value : values) {
    std::string_view type;
    if (const auto next = types.Next()) {
      type = TextOr(*next);
    }
    out.push_back(
        ParseValue(value, shapes.Next().value_or(nothing), strides.Next().value_or(nothing), type));
  }
  return out;
}

}  // namespace

ArgumentLists NestedLists(element arguments) {
  return {arguments["values"], arguments["shapes"], arguments["types"], arguments["strides"]};
}

ValueList ParseArguments(const ArgumentLists& lists, bool& odd) {
  return Parse<element>(lists, odd);
}

ValueList ParseArguments(const PlainArgumentLists& lists, bool& odd) {
  return Parse<PlainElement>(lists, odd);
}

}  // namespace reprise
