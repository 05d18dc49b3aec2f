#include <fmt/format.h>

#include <array>

#include "et_schema/foreign_wire.h"
#include "et_schema/message_reader.h"
#include "et_schema/node_stream.h"

namespace reprise {
namespace {

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
  bool native() const override { return header_.Find(kFormatAttribute) != nullptr; }

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
