#include "converters/chakra/json_nodes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "converters/chakra/json_values.h"
#include "converters/chakra/storage_json.h"
#include "converters/json_members.h"
#include "converters/json_split.h"
#include "core/text.h"

namespace reprise::chakra {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::optional<std::uint32_t> TypeNumber(element value) {
  constexpr std::array<std::string_view, 11> kNames = {
      "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
      "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
      "STORAGE_NODE", "BATCH_NODE",     "CHECKPOINT_NODE"};
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) {
    for (std::uint32_t i = 0; i < kNames.size(); ++i) {
      if (text == kNames.at(i)) {
        return i;
      }
    }
  }
  const auto number = Integer<std::int64_t>(value);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

using AttributeValue = decltype(ForeignAttribute::value);

std::optional<double> Real(element value) {
  double real = 0;
  std::string_view text;
  if (value.get(real) == simdjson::SUCCESS) {
    return real;
  }
  if (value.get(text) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return text == "NaN"         ? std::optional(std::nan(""))
         : text == "Infinity"  ? std::optional(kInf)
         : text == "-Infinity" ? std::optional(-kInf)
                               : ParseNumber<double>(text);
}

std::optional<AttributeValue> Scalar(element value) {
  switch (value.type()) {
    case simdjson::dom::element_type::BOOL:
      return AttributeValue(bool(value));
    case simdjson::dom::element_type::INT64:
      return AttributeValue(std::int64_t(value));
    case simdjson::dom::element_type::UINT64:
    case simdjson::dom::element_type::DOUBLE:
      return AttributeValue(double(value));
    case simdjson::dom::element_type::STRING:
      return AttributeValue(std::string(std::string_view(value)));
    default:
      return std::nullopt;
  }
}

// A list is of the type of its members, if they have one.
std::optional<AttributeValue> List(array values, bool texts, bool reals) {
  std::vector<std::int64_t> ints;
  std::vector<double> doubles;
  std::vector<std::string> strings;
  for (const element value : values) {
    bool truth = false;
    if (texts) {
      std::string_view text;
      if (value.get(text) != simdjson::SUCCESS) {
        return std::nullopt;
      }
      strings.emplace_back(text);
    } else if (reals) {
      const auto real = Real(value);
      if (!real) {
        return std::nullopt;
      }
      doubles.push_back(*real);
    } else if (value.get(truth) == simdjson::SUCCESS) {
      ints.push_back(truth ? 1 : 0);
    } else if (const auto number = Integer<std::int64_t>(value)) {
      ints.push_back(*number);
    } else {
      return std::nullopt;
    }
  }
  return texts   ? std::optional<AttributeValue>(std::move(strings))
         : reals ? std::optional<AttributeValue>(std::move(doubles))
                 : std::optional<AttributeValue>(std::move(ints));
}

// {"int64Val": "3"}, {"boolList": {"values": [true]}}: the key says the type.
std::optional<AttributeValue> TypedValue(const std::string& key, element value) {
  const bool text = key.starts_with("string") || key.starts_with("bytes");
  const bool real = key.starts_with("double") || key.starts_with("float");
  if (key.ends_with("list")) {
    array values;
    element inner;
    if (value["values"].get(inner) != simdjson::SUCCESS) {
      inner = value;
    }
    if (inner.get(values) != simdjson::SUCCESS) {
      // An empty list has no member `values`.
      return value.is_object() ? std::optional<AttributeValue>(std::vector<std::int64_t>())
                               : std::nullopt;
    }
    return List(values, text, real);
  }
  if (real) {
    const auto number = Real(value);
    return number ? std::optional<AttributeValue>(*number) : std::nullopt;
  }
  if (!text && value.is_string()) {
    if (const auto number = Integer<std::int64_t>(value)) {
      return AttributeValue(*number);
    }
    const auto large = Integer<std::uint64_t>(value);
    return large ? std::optional<AttributeValue>(static_cast<double>(*large)) : std::nullopt;
  }
  return Scalar(value);
}

class JsonNodeReader {
 public:
  JsonNodeReader(const TextFile& file, Diagnostics& diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  Result<JsonTrace> Read() {
    REPRISE_ASSIGN(const std::vector<std::string_view> values, SplitValues(file_));
    // One object around a list of nodes, or the first of many.
    if (values.size() == 1) {
      for (const std::string_view key : {"nodes", "workload_graph"}) {
        auto whole = SplitObject(file_, key);
        if (whole && whole->has_array) {
          REPRISE_TRY(ReadWrapper(*whole));
          return ReadAll(whole->elements, false);
        }
      }
    }
    return ReadAll(values, true);
  }

 private:
  Status ReadWrapper(const SplitJson& whole) {
    for (const auto& [key, raw] : whole.members) {
      const std::string normal = Normal(key);
      if (normal == "metadata" || normal == "globalmetadata") {
        REPRISE_ASSIGN(const element root, ParseElement(parser_, file_, raw));
        ReadHeader(root);
      }
    }
    return {};
  }

  Result<JsonTrace> ReadAll(const std::vector<std::string_view>& values, bool may_have_header) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      offset_ = file_.OffsetOf(values[i]);
      bool patched = false;
      REPRISE_ASSIGN(const element root, ParseElement(parser_, file_, values[i], &patched));
      if (patched) {
        diagnostics_.Count("non_json_number", Where());
      }
      object fields;
      if (root.get(fields) != simdjson::SUCCESS) {
        return BadInput(
            fmt::format("{}: expected a node as an object at byte {}", file_.path(), offset_));
      }
      if (i == 0 && may_have_header && !IsNode(fields)) {
        ReadHeader(root);
        continue;
      }
      REPRISE_TRY(ReadNode(fields));
    }
    return std::move(trace_);
  }

  // protobuf leaves out what is zero or empty, even an id.
  static bool IsNode(object fields) {
    for (const auto& field : fields) {
      const std::string key = Normal(field.key);
      if (key == "id" || key == "name" || key == "type" || key == "nodetype" || key == "datadeps" ||
          key == "ctrldeps") {
        return true;
      }
    }
    return false;
  }

  void ReadHeader(element root) {
    trace_.header.version = TextOr(root["version"]);
    for (const char* key : {"attr", "attribute"}) {
      element list;
      if (root[key].get(list) == simdjson::SUCCESS) {
        ReadAttributes(list, trace_.header.attributes);
      }
    }
  }

  Status ReadNode(object fields) {
    ForeignNode& node = trace_.nodes.emplace_back();
    node.offset = offset_;
    for (const auto& field : fields) {
      const std::string key = Normal(field.key);
      if (key == "id") {
        const auto id = Integer<std::uint64_t>(field.value);
        if (!id) {
          return BadInput(fmt::format("{}: the id of the node at byte {} is no whole number",
                                      file_.path(), offset_));
        }
        node.id = *id;
      } else if (key == "datadeps" || key == "ctrldeps" || key == "parent") {
        REPRISE_TRY(ReadDeps(field.value, key == "ctrldeps" ? node.ctrl_deps : node.data_deps));
      } else {
        ReadField(field.key, key, field.value, node);
      }
    }
    return {};
  }

  Status ReadDeps(element value, std::vector<std::uint64_t>& out) {
    array list;
    if (value.get(list) == simdjson::SUCCESS) {
      for (const element item : list) {
        const auto id = Integer<std::uint64_t>(item);
        if (!id) {
          return BadInput(fmt::format("{}: a dependency of the node at byte {} is no whole number",
                                      file_.path(), offset_));
        }
        out.push_back(*id);
      }
      return {};
    }
    const auto id = Integer<std::uint64_t>(value);
    if (!id && !value.is_null()) {
      return BadInput(fmt::format("{}: the dependencies of the node at byte {} are no list",
                                  file_.path(), offset_));
    }
    if (id) {
      out.push_back(*id);
    }
    return {};
  }

  void ReadField(std::string_view name, const std::string& key, element value, ForeignNode& node) {
    std::string_view text;
    if (key == "name") {
      value.get(text) == simdjson::SUCCESS ? void(node.name = text) : Odd(name);
    } else if (key == "type" || key == "nodetype") {
      const auto type = TypeNumber(value);
      type ? void(node.type = *type) : Odd(name);
    } else if (key == "starttimemicros" || key == "durationmicros" || key == "runtime") {
      const auto micros = Integer<std::uint64_t>(value);
      if (!micros) {
        Odd(name);
      } else if (key == "starttimemicros") {
        node.start_micros = *micros;
      } else {
        node.duration_micros = *micros;
      }
    } else if (key == "inputs" || key == "outputs") {
      ReadIo(value, key == "inputs" ? node.inputs : node.outputs);
    } else if (key == "attr" || key == "attrs" || key == "attribute") {
      ReadAttributes(value, node.attributes);
    } else if (key == "storage" && value.is_object()) {
      for (const std::string& odd : ReadStorageJson(value, node.storage)) {
        Odd(odd);
      }
    } else if (const auto scalar = Scalar(value)) {
      node.Set(name, *scalar);  // the feeder's form: attributes are members
    } else if (!value.is_null()) {
      Odd(name);
    }
  }

  void ReadIo(element value, ForeignIo& io) {
    const std::pair<const char*, std::string*> parts[] = {
        {"values", &io.values}, {"shapes", &io.shapes}, {"types", &io.types}};
    for (const auto& [key, to] : parts) {
      element part;
      std::string_view text;
      if (value[key].get(part) != simdjson::SUCCESS) {
        continue;
      }
      part.get(text) == simdjson::SUCCESS ? void(*to = text) : Odd(key);
    }
  }

  void ReadAttributes(element value, std::vector<ForeignAttribute>& out) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) {
      Odd("attr");
      return;
    }
    for (const element item : list) {
      object fields;
      if (item.get(fields) != simdjson::SUCCESS) {
        Odd("attr");
        continue;
      }
      ForeignAttribute attribute;
      bool known = false;
      for (const auto& field : fields) {
        const std::string key = Normal(field.key);
        if (std::string_view text; key == "name" && field.value.get(text) == simdjson::SUCCESS) {
          attribute.name = text;
        } else if (key.ends_with("val") || key.ends_with("list") || key == "value") {
          const auto typed = key == "value" ? Scalar(field.value) : TypedValue(key, field.value);
          known = typed.has_value();
          attribute.value = typed.value_or(0);
        }
      }
      known ? out.push_back(std::move(attribute)) : Odd(attribute.name);
    }
  }

  void Odd(std::string_view what) {
    diagnostics_.Count("json_value_type", fmt::format("{}, {}", Where(), what));
  }
  [[nodiscard]] std::string Where() const {
    return fmt::format("{}: at byte {}", file_.path(), offset_);
  }

  const TextFile& file_;
  Diagnostics& diagnostics_;
  simdjson::dom::parser parser_;
  JsonTrace trace_;
  std::size_t offset_ = 0;
};

}  // namespace

Result<JsonTrace> ReadJsonTrace(const TextFile& file, Diagnostics& diagnostics) {
  return JsonNodeReader(file, diagnostics).Read();
}

}  // namespace reprise::chakra
