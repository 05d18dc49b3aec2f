#include "et_schema/chakra_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "et_schema/et_def.pb.h"
#include "et_schema/message_reader.h"

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

template <typename Values>
FeederJson PlainList(const Values& values) {
  FeederJson list = FeederJson::array();
  for (const auto& value : values) {
    list.push_back(value);
  }
  return {{"values", std::move(list)}};
}

// protobuf writes 64-bit integers as text.
template <typename Values>
FeederJson TextList(const Values& values) {
  FeederJson list = FeederJson::array();
  for (const auto& value : values) {
    list.push_back(std::to_string(value));
  }
  return {{"values", std::move(list)}};
}

FeederJson Real(double value) {
  if (value != value) {
    return "NaN";
  }
  constexpr double kLargest = std::numeric_limits<double>::max();
  return value > kLargest    ? FeederJson("Infinity")
         : value < -kLargest ? FeederJson("-Infinity")
                             : FeederJson(value);
}

template <typename Values>
FeederJson RealList(const Values& values) {
  FeederJson list = FeederJson::array();
  for (const auto value : values) {
    list.push_back(Real(static_cast<double>(value)));
  }
  return {{"values", std::move(list)}};
}

// protobuf writes bytes in base 64.
std::string Base64(std::string_view bytes) {
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
    case Case::kDoubleVal:
      return {"doubleVal", Real(attribute.double_val())};
    case Case::kDoubleList:
      return {"doubleList", RealList(attribute.double_list().values())};
    case Case::kFloatVal:
      return {"floatVal", Real(static_cast<double>(attribute.float_val()))};
    case Case::kFloatList:
      return {"floatList", RealList(attribute.float_list().values())};
    case Case::kInt32Val:
      return {"int32Val", attribute.int32_val()};
    case Case::kInt32List:
      return {"int32List", PlainList(attribute.int32_list().values())};
    case Case::kInt64Val:
      return {"int64Val", std::to_string(attribute.int64_val())};
    case Case::kInt64List:
      return {"int64List", TextList(attribute.int64_list().values())};
    case Case::kUint32Val:
      return {"uint32Val", attribute.uint32_val()};
    case Case::kUint32List:
      return {"uint32List", PlainList(attribute.uint32_list().values())};
    case Case::kUint64Val:
      return {"uint64Val", std::to_string(attribute.uint64_val())};
    case Case::kUint64List:
      return {"uint64List", TextList(attribute.uint64_list().values())};
    case Case::kSint32Val:
      return {"sint32Val", attribute.sint32_val()};
    case Case::kSint32List:
      return {"sint32List", PlainList(attribute.sint32_list().values())};
    case Case::kSint64Val:
      return {"sint64Val", std::to_string(attribute.sint64_val())};
    case Case::kSint64List:
      return {"sint64List", TextList(attribute.sint64_list().values())};
    case Case::kFixed32Val:
      return {"fixed32Val", attribute.fixed32_val()};
    case Case::kFixed32List:
      return {"fixed32List", PlainList(attribute.fixed32_list().values())};
    case Case::kFixed64Val:
      return {"fixed64Val", std::to_string(attribute.fixed64_val())};
    case Case::kFixed64List:
      return {"fixed64List", TextList(attribute.fixed64_list().values())};
    case Case::kSfixed32Val:
      return {"sfixed32Val", attribute.sfixed32_val()};
    case Case::kSfixed32List:
      return {"sfixed32List", PlainList(attribute.sfixed32_list().values())};
    case Case::kSfixed64Val:
      return {"sfixed64Val", std::to_string(attribute.sfixed64_val())};
    case Case::kSfixed64List:
      return {"sfixed64List", TextList(attribute.sfixed64_list().values())};
    case Case::kBoolVal:
      return {"boolVal", attribute.bool_val()};
    case Case::kBoolList:
      return {"boolList", PlainList(attribute.bool_list().values())};
    case Case::kStringVal:
      return {"stringVal", attribute.string_val()};
    case Case::kStringList:
      return {"stringList", PlainList(attribute.string_list().values())};
    case Case::kBytesVal:
      return {"bytesVal", Base64(attribute.bytes_val())};
    case Case::kBytesList: {
      std::vector<std::string> texts;
      for (const std::string& bytes : attribute.bytes_list().values()) {
        texts.push_back(Base64(bytes));
      }
      return {"bytesList", PlainList(texts)};
    }
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
  while (true) {
    REPRISE_ASSIGN(more, messages.Next(message));
    if (!more) {
      break;
    }
    if (!node.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
      return BadInput(
          fmt::format("{}: the message at byte {} is no Node", et_path, messages.offset()));
    }
    out << (nodes == 0 ? "\n" : ",\n") << Text(NodeJson(node));
    ++nodes;
  }
  out << "\n],\n\"metadata\": " << Text({{"version", header.version()}, {"attr", attributes}})
      << "}\n";
  if (!out) {
    return EnvironmentError(fmt::format("{}: its JSON cannot be written", et_path));
  }
  return nodes;
}

}  // namespace reprise
