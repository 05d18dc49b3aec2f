#include <fmt/format.h>

#include <array>
#include <optional>

#include "et_schema/foreign_fields.h"
#include "et_schema/foreign_wire.h"
#include "et_schema/header_fields.h"
#include "et_schema/message_reader.h"
#include "et_schema/node_stream.h"
#include "et_schema/raw_node.h"

namespace reprise {
namespace {

// What the messages of a file show about its schema.
struct SchemaEvidence {
  bool node_first = false;            // the first message is a Node: no header
  bool old_header = false;            // the header's attributes are of the old kind
  bool old_attributes = false;        // a node has field 11
  bool second_layout = false;         // numbers in field 5, strings in 6 of an attribute: 0.0.2
  bool new_attributes = false;        // a node has named attributes in field 10
  bool communication_fields = false;  // a node has numbers where later ones have strings: 0.0.1
  bool new_header = false;            // the header has a version, as today's
  bool storage = false;               // a node's field 11 has no name: it is no attribute
  // False: not a message of any of them.
  [[nodiscard]] bool AddFirst(std::string_view message);
  [[nodiscard]] bool Add(std::string_view message);
};

// Name and type enum, as every attribute before 0.0.4 has them.
bool LooksLikeOldAttribute(std::string_view message) {
  bool name = false;
  bool type = false;
  const bool ok = ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor&) {
    name = name || (field == 1 && wire == WireType::kBytes);
    type = type || (field == 2 && wire == WireType::kVarint);
    return std::optional<bool>();
  });
  return ok && name && type;
}

bool SchemaEvidence::AddFirst(std::string_view message) {
  bool known = message.empty();
  const bool ok = ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& at) {
    if (field == 1 && wire == WireType::kVarint) {
      node_first = known = true;
    } else if ((field == 1 || field == 2) && wire == WireType::kBytes) {
      std::string_view bytes;
      if (!at.Bytes(bytes)) {
        return std::optional(false);
      }
      known = true;
      const bool old = LooksLikeOldAttribute(bytes);
      old_header = old_header || (field == 1 && !node_first && old);
      // An attribute begins with the tag of its name, which is a line feed as text.
      new_header = new_header ||
                   (field == 1 && !node_first && !old && !bytes.empty() && bytes.front() != '\n');
      return std::optional(true);
    }
    return std::optional<bool>();
  });
  return ok && known && (!node_first || Add(message));
}

bool SchemaEvidence::Add(std::string_view message) {
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    std::string_view bytes;
    const bool varint = wire == WireType::kVarint;
    communication_fields = communication_fields || field > kOldAttributeField ||
                           (varint && field >= 7 && field <= kOldAttributeField);
    if (wire != WireType::kBytes || (field != kAttributeField && field != kOldAttributeField)) {
      return std::optional<bool>();
    }
    if (!cursor.Bytes(bytes)) {
      return std::optional(false);
    }
    if (field == kAttributeField) {
      RawAttribute raw;
      new_attributes =
          new_attributes || (ParseAttribute(bytes, raw) && !raw.name.empty() && raw.field != 0);
      return std::optional(true);
    }
    if (!HasAName(bytes)) {
      storage = true;
      return std::optional(true);
    }
    old_attributes = true;
    static_cast<void>(ForEachField(bytes, [&](std::uint32_t inner, WireType type, WireCursor&) {
      second_layout = second_layout || (inner == 5 && type == WireType::kVarint) ||
                      (inner == 6 && type == WireType::kBytes);
      return std::optional<bool>();
    }));
    return std::optional(true);
  });
}

WireSchema SchemaOf(const SchemaEvidence& evidence) {
  if (evidence.new_header) {
    return WireSchema::kFourth;
  }
  if (evidence.old_attributes || evidence.old_header) {
    return evidence.second_layout ? WireSchema::kSecond : WireSchema::kThird;
  }
  if (!evidence.node_first || evidence.new_attributes || evidence.storage) {
    return WireSchema::kFourth;
  }
  return evidence.communication_fields ? WireSchema::kFirst : WireSchema::kThird;
}

// What a file is shows in its nodes, wherever the first that shows it is: all are looked at.
Result<SchemaEvidence> Examine(const std::string& path) {
  REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(path));
  SchemaEvidence evidence;
  for (bool first = true;; first = false) {
    std::string_view message;
    REPRISE_ASSIGN(const bool more, messages.Next(message));
    if (!more) {
      if (first) {
        return BadInput(fmt::format("{}: empty, expected an .et file", path));
      }
      return evidence;
    }
    if (!(first ? evidence.AddFirst(message) : evidence.Add(message))) {
      return BadInput(fmt::format("{}: the message at byte {} is {}: not an .et file, or damaged",
                                  path, messages.offset(),
                                  first ? "neither GlobalMetadata nor a node" : "not a node"));
    }
  }
}

class FileReader : public ForeignReader {
 public:
  FileReader(MessageReader messages, const SchemaEvidence& evidence)
      : messages_(std::move(messages)),
        schema_(SchemaOf(evidence)),
        has_header_(!evidence.node_first) {}

  Status ReadHeader() {
    if (!has_header_) {
      return {};
    }
    std::string_view message;
    REPRISE_TRY(messages_.Next(message));
    if (!ParseForeign(message, schema_, header_)) {
      return BadInput(
          fmt::format("{}: the message at byte 0 is no GlobalMetadata: damaged", messages_.path()));
    }
    return {};
  }

  std::string_view schema() const override {
    constexpr std::array<std::string_view, 4> kNames = {"0.0.1", "0.0.2", "0.0.3", "0.0.4"};
    return kNames.at(static_cast<std::size_t>(schema_));
  }
  const ForeignHeader& header() const override { return header_; }
  bool native() const override { return header_.Find(kFormatMark.name) != nullptr; }

  Result<bool> Next(ForeignNode& node) override {
    std::string_view message;
    REPRISE_ASSIGN(const bool more, messages_.Next(message));
    if (!more) {
      return false;
    }
    node.offset = messages_.offset();
    if (!ParseForeign(message, schema_, node)) {
      return BadInput(fmt::format("{}: the message at byte {} is not a node: damaged",
                                  messages_.path(), messages_.offset()));
    }
    return true;
  }

 private:
  MessageReader messages_;
  WireSchema schema_;
  bool has_header_;
  ForeignHeader header_;
};

}  // namespace

Result<std::unique_ptr<ForeignReader>> ForeignReader::Open(const std::string& path) {
  REPRISE_ASSIGN(const SchemaEvidence evidence, Examine(path));
  REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(path));
  auto reader = std::make_unique<FileReader>(std::move(messages), evidence);
  REPRISE_TRY(reader->ReadHeader());
  return reader;
}

bool LooksLikeEt(const std::string& path) {
  auto messages = MessageReader::Open(path);
  if (!messages) {
    return false;
  }
  std::string_view message;
  SchemaEvidence evidence;
  const auto first = messages->Next(message);
  if (!first || !*first || !evidence.AddFirst(message)) {
    return false;
  }
  const bool empty_header = message.empty();  // as zeros would be
  const auto second = messages->Next(message);
  return second && (*second ? !message.empty() && evidence.Add(message) : !empty_header);
}

}  // namespace reprise
