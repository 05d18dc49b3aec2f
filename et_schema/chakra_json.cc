#include "et_schema/chakra_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>

#include "core/for_each_read.h"
#include "et_schema/et_def.pb.h"
#include "et_schema/message_reader.h"
#include "et_schema/storage_codec.h"
#include "et_schema/storage_fields.h"

namespace reprise {
namespace {

namespace pb = ChakraProtoMsg;
using FeederJson = nlohmann::ordered_json;

// What the feeder reads of a node besides its own fields.
constexpr std::array<std::string_view, 9> kMembers = {"is_cpu_op", "num_ops",   "tensor_size",
                                                      "comm_type", "comm_size", "comm_priority",
                                                      "comm_src",  "comm_dst",  "comm_tag"};

bool IsMember(std::string_view name) {
  return std::find(kMembers.begin(), kMembers.end(), name) != kMembers.end();
}

// As protobuf writes them: 64-bit integers as text, bytes in base 64.
FeederJson Plain(const auto& value) { return value; }
FeederJson Digits(const auto& value) { return std::to_string(value); }
FeederJson Real(double value) {
  if (value != value) {
    return "NaN";
  }
  constexpr double kLargest = std::numeric_limits<double>::max();
  return value > kLargest    ? FeederJson("Infinity")
         : value < -kLargest ? FeederJson("-Infinity")
                             : FeederJson(value);
}

FeederJson Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::uint32_t kDigitBits = 6;
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    const std::size_t digits = std::min<std::size_t>(bytes.size() - i, 3) + 1;
    for (std::uint32_t k = 0; k < 4; ++k) {
      out += k < digits ? kDigits[three >> (3 - k) * kDigitBits & 63U] : '=';
    }
  }
  return out;
}

// The member of protobuf's JSON that holds the value; none for an attribute without one.
std::pair<std::string, FeederJson> ValueOf(const pb::AttributeProto& attribute) {
  using Case = pb::AttributeProto::ValueCase;
  switch (attribute.value_case()) {
#define VALUE_JSON(Symbol, key, member, scalar)                    \
  case Case::k##Symbol##Val:                                       \
    return {key "Val", scalar(attribute.member##_val())};          \
  case Case::k##Symbol##List: {                                    \
    FeederJson list = FeederJson::array();                         \
    for (const auto& value : attribute.member##_list().values()) { \
      list.push_back(scalar(value));                               \
    }                                                              \
    return {key "List", FeederJson{{"values", std::move(list)}}};  \
  }
    VALUE_JSON(Double, "double", double, Real)
    VALUE_JSON(Float, "float", float, Real)
    VALUE_JSON(Int32, "int32", int32, Plain)
    VALUE_JSON(Int64, "int64", int64, Digits)
    VALUE_JSON(Uint32, "uint32", uint32, Plain)
    VALUE_JSON(Uint64, "uint64", uint64, Digits)
    VALUE_JSON(Sint32, "sint32", sint32, Plain)
    VALUE_JSON(Sint64, "sint64", sint64, Digits)
    VALUE_JSON(Fixed32, "fixed32", fixed32, Plain)
    VALUE_JSON(Fixed64, "fixed64", fixed64, Digits)
    VALUE_JSON(Sfixed32, "sfixed32", sfixed32, Plain)
    VALUE_JSON(Sfixed64, "sfixed64", sfixed64, Digits)
    VALUE_JSON(Bool, "bool", bool, Plain)
    VALUE_JSON(String, "string", string, Plain)
    VALUE_JSON(Bytes, "bytes", bytes, Base64)
#undef VALUE_JSON
    case Case::VALUE_NOT_SET:
      break;
  }
  return {};
}

FeederJson AttributeJson(const pb::AttributeProto& attribute) {
  FeederJson json = {{"name", attribute.name()}};
  if (auto [key, value] = ValueOf(attribute); !key.empty()) {
    json[key] = std::move(value);
  }
  return json;
}

// A number or boolean as the feeder reads it; null if the attribute is neither.
FeederJson MemberJson(const pb::AttributeProto& attribute) {
  const auto [key, value] = ValueOf(attribute);
  if (value.is_number_integer() || value.is_boolean()) {
    return value;
  }
  if (key.find("64Val") != std::string::npos) {
    const std::string text = value.get<std::string>();
    return text.starts_with('-') ? FeederJson(std::stoll(text)) : FeederJson(std::stoull(text));
  }
  return nullptr;
}

FeederJson IoJson(const pb::IOInfo& io) {
  return {{"values", io.values()}, {"shapes", io.shapes()}, {"types", io.types()}};
}

// "size_bytes" → "sizeBytes".
std::string CamelCase(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    out += name[i] != '_' ? name[i] : static_cast<char>(name[++i] - 'a' + 'A');
  }
  return out;
}

// Chakra's name of a number; what has none stays a number.
FeederJson EnumJson(const SchemaNames& names, SchemaNumber number) {
  if (!names.Has(number)) {
    return number;
  }
  std::string name(names.prefix);
  for (const char c : names.Of(number)) {
    name += c == '_' ? c : static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

template <typename Row, typename T>
FeederJson StorageValueJson(const Row& row, const T& value) {
  if constexpr (std::is_same_v<T, SchemaNumber>) {
    return row.names == nullptr ? FeederJson(value) : EnumJson(*row.names, value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return Digits(value);
  } else {
    return value;
  }
}

FeederJson StorageJson(const pb::StorageInfo& storage) {
  std::optional<StorageWork> work;
  std::uint64_t unknown_fields = 0;
  FeederJson json = FeederJson::object();
  if (!ParseStorage(storage.SerializeAsString(), work, unknown_fields) || !work) {
    return json;
  }
  json["level"] = EnumJson(schema_names::kLevel, work->level);
  VisitDetail(*work, [&]<typename Operation>(const Operation& detail) {
    FeederJson& fields = json[std::string(StorageTable<Operation>::kName)] = FeederJson::object();
    ForEachStorageField<Operation>([&](const auto& row) {
      fields[CamelCase(row.name)] = StorageValueJson(row, row.Of(detail));
    });
  });
  return json;
}

FeederJson NodeJson(const pb::Node& node) {
  FeederJson json = {
      {"Id", node.id()},
      {"Name", node.name()},
      {"NodeType", static_cast<int>(node.type())},
      {"ctrlDeps", std::vector<std::uint64_t>(node.ctrl_deps().begin(), node.ctrl_deps().end())},
      {"data_deps", std::vector<std::uint64_t>(node.data_deps().begin(), node.data_deps().end())},
      {"startTimeMicros", node.start_time_micros()},
      {"runtime", node.duration_micros()},
      {"is_cpu_op", false}};
  if (node.has_inputs()) {
    json["inputs"] = IoJson(node.inputs());
  }
  if (node.has_outputs()) {
    json["outputs"] = IoJson(node.outputs());
  }
  if (node.has_storage()) {
    json["storage"] = StorageJson(node.storage());
  }
  FeederJson rest = FeederJson::array();
  for (const pb::AttributeProto& attribute : node.attr()) {
    FeederJson member = IsMember(attribute.name()) ? MemberJson(attribute) : FeederJson();
    if (!member.is_null()) {
      json[attribute.name()] = std::move(member);
    } else {
      rest.push_back(AttributeJson(attribute));
    }
  }
  if (!rest.empty()) {
    json["attr"] = std::move(rest);
  }
  return json;
}

std::string Text(const FeederJson& json) {
  return json.dump(-1, ' ', false, FeederJson::error_handler_t::replace);
}

}  // namespace

Result<std::uint64_t> WriteChakraJson(const std::string& et_path, std::ostream& out) {
  REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(et_path));
  std::string_view message;
  REPRISE_ASSIGN(bool more, messages.Next(message));
  pb::GlobalMetadata header;
  if (!more || !header.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return BadInput(
        fmt::format("{}: the first message is no GlobalMetadata: not an .et file, or "
                    "of an old schema; `reprise convert` reads those",
                    et_path));
  }
  FeederJson attributes = FeederJson::array();
  for (const pb::AttributeProto& attribute : header.attr()) {
    attributes.push_back(AttributeJson(attribute));
  }
  out << "{\"workload_graph\": [";  // first, so that readers know the file by it
  std::uint64_t nodes = 0;
  pb::Node node;
  REPRISE_TRY(ForEachRead<std::string_view>(messages, [&](std::string_view bytes) -> Status {
    if (!node.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return BadInput(
          fmt::format("{}: the message at byte {} is no Node", et_path, messages.offset()));
    }
    out << (nodes == 0 ? "\n" : ",\n") << Text(NodeJson(node));
    ++nodes;
    return {};
  }));
  out << "\n],\n\"metadata\": " << Text({{"version", header.version()}, {"attr", attributes}})
      << "}\n";
  if (!out) {
    return EnvironmentError(fmt::format("{}: its JSON cannot be written", et_path));
  }
  return nodes;
}

}  // namespace reprise
