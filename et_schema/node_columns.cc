#include "et_schema/node_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "core/shown_text.h"
#include "core/utf8.h"
#include "et_schema/column_builder.h"
#include "et_schema/foreign_fields.h"
#include "et_schema/message_reader.h"
#include "et_schema/node.h"
#include "et_schema/raw_node.h"

namespace reprise {
namespace {

// A file whose every node has attributes of its own is no table.
constexpr std::size_t kMostColumns = 4096;
constexpr std::uint64_t kNanosecondsPerMicrosecond = 1000;

// A Node's fields, as ParseNode fills them.
struct MessageFields {
  std::uint64_t id = 0;
  std::string_view name;
  std::uint32_t type = 0;
  std::vector<std::uint64_t> ctrl_deps, data_deps;
  std::uint64_t start_micros = 0;
  std::uint64_t duration_micros = 0;
  RawIo inputs, outputs;
  std::optional<StorageWork> storage;  // no column
  std::uint64_t unknown_fields = 0;

  void Clear() {
    id = start_micros = duration_micros = 0;
    type = 0;
    name = {};
    ctrl_deps.clear();
    data_deps.clear();
    inputs = outputs = {};
    storage.reset();
    unknown_fields = 0;
  }
};

// The nodes of a file one by one, with their attributes; errors with file and node.
class AttributeReader {
 public:
  static Result<AttributeReader> Open(const std::string& path) {
    REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(path));
    AttributeReader reader(std::move(messages));
    std::string_view header;
    REPRISE_ASSIGN(const bool found, reader.messages_.Next(header));
    reader.header_ = found ? header : std::string_view();
    return reader;
  }
  // False at the end of the file. Texts are UTF-8 then, but those of attributes.
  [[nodiscard]] Result<bool> Next() {
    std::string_view message;
    REPRISE_ASSIGN(const bool more, messages_.Next(message));
    if (!more) {
      return false;
    }
    if (row_ == std::numeric_limits<std::uint32_t>::max()) {
      return Refuse("more nodes than 2^32");
    }
    fields_.Clear();
    count_ = 0;
    const bool parsed = ParseNode(message, fields_, [this](std::string_view attribute) {
      if (count_ == attributes_.size()) {
        attributes_.emplace_back();
      }
      return ParseAttribute(attribute, attributes_[count_++]);
    });
    if (!parsed) {
      return Refuse("no node");
    }
    ++row_;
    const std::array texts = {fields_.name,         fields_.inputs.values,  fields_.inputs.shapes,
                              fields_.inputs.types, fields_.outputs.values, fields_.outputs.shapes,
                              fields_.outputs.types};
    if (!std::ranges::all_of(texts, IsValidUtf8)) {
      return Refuse("a text that is not UTF-8");
    }
    return true;
  }
  // What NodeTable finds when it takes the values, for who takes none: a damaged attribute.
  [[nodiscard]] Status CheckAttributes() {
    for (const RawAttribute& attribute : attributes()) {
      if (!IsValidUtf8(attribute.name) || (attribute.field != 0 && !HoldsValue(attribute))) {
        return Refuse(attribute.name, "is damaged, or a list of reals, booleans or bytes");
      }
    }
    return {};
  }
  [[nodiscard]] tl::unexpected<Error> Refuse(std::string_view what) const {
    return BadInput(fmt::format("{}: byte {}: {}", messages_.path(), messages_.offset(), what));
  }
  [[nodiscard]] tl::unexpected<Error> Refuse(std::string_view attribute, Misfit why) const {
    return Refuse(
        fmt::format("the attribute {} of node {} {}", ShownText(attribute), fields_.id, why));
  }

  [[nodiscard]] std::string TakeHeader() { return std::move(header_); }
  [[nodiscard]] std::uint32_t row() const { return row_ - 1; }  // of the node last read
  [[nodiscard]] std::uint64_t nodes() const { return row_; }
  [[nodiscard]] const std::string& path() const { return messages_.path(); }
  [[nodiscard]] const MessageFields& fields() const { return fields_; }
  // Those with a value.
  [[nodiscard]] std::span<const RawAttribute> attributes() const {
    return {attributes_.data(), count_};
  }

 private:
  explicit AttributeReader(MessageReader messages) : messages_(std::move(messages)) {}
  [[nodiscard]] bool HoldsValue(const RawAttribute& attribute) {
    const std::optional<ColumnKind> kind = KindOf(attribute);
    if (kind == ColumnKind::kIntegerList) {
      return attribute.AsInts(numbers_);
    }
    if (kind == ColumnKind::kTextList) {
      return attribute.AsTexts(texts_) && std::ranges::all_of(texts_, IsValidUtf8);
    }
    return kind && (kind != ColumnKind::kText || IsValidUtf8(attribute.bytes));
  }

  MessageReader messages_;
  std::string header_;
  MessageFields fields_;
  std::vector<RawAttribute> attributes_;  // the first count_ are the node's
  std::size_t count_ = 0;
  std::uint32_t row_ = 0;
  std::vector<std::int64_t> numbers_;
  std::vector<std::string_view> texts_;
};

// The attribute dep_reasons of the node last read; empty: none.
Result<std::vector<std::int64_t>> DependencyReasons(const AttributeReader& reader) {
  std::vector<std::int64_t> reasons;
  for (const RawAttribute& attribute : reader.attributes()) {
    if (attribute.field != 0 && attribute.name == "dep_reasons" &&
        (!attribute.AsInts(reasons) ||
         std::ranges::any_of(reasons, [](std::int64_t reason) { return reason < 0; }))) {
      return reader.Refuse(attribute.name, "is no list of numbers");
    }
  }
  return reasons;
}

class NodeTable {
 public:
  NodeTable() {
    Start("node_id", ColumnKind::kInteger);
    Start("name", ColumnKind::kText);
    Start("type", ColumnKind::kInteger);
    Start("start_ns", ColumnKind::kInteger);
    Start("duration_ns", ColumnKind::kInteger);
  }

  [[nodiscard]] Status Add(const AttributeReader& reader) {
    const MessageFields& node = reader.fields();
    const std::uint32_t row = reader.row();
    columns_[kId].AddNumber(row, node.id, true);
    static_cast<void>(columns_[kName].AddText(row, node.name));  // which the reader checked
    columns_[kType].AddBits(row, node.type);
    std::optional<RawAttribute> start, duration;
    std::size_t expected = kFixedColumns;
    for (const RawAttribute& attribute : reader.attributes()) {
      if (attribute.name == "dep_reasons") {
        REPRISE_TRY(DependencyReasons(reader));
        continue;
      }
      if (attribute.field == 0) {
        if (!IsValidUtf8(attribute.name)) {
          return reader.Refuse(attribute.name, "is not UTF-8");
        }
        continue;
      }
      if (attribute.name == "start_ns" || attribute.name == "duration_ns") {
        std::optional<RawAttribute>& time = attribute.name == "start_ns" ? start : duration;
        if (time) {
          return reader.Refuse(attribute.name, "occurs twice");
        }
        time = attribute;
        continue;
      }
      REPRISE_ASSIGN(const std::size_t column, Find(attribute, expected, reader));
      if (const Misfit why = columns_[column].Add(row, attribute); !why.empty()) {
        return reader.Refuse(attribute.name, why);
      }
      expected = column + 1;
    }
    REPRISE_TRY(AddTime(kStart, start, node.start_micros, reader));
    return AddTime(kDuration, duration, node.duration_micros, reader);
  }

  [[nodiscard]] Result<ColumnTable> Finish(AttributeReader& reader) {
    ColumnTable table{.nodes = reader.nodes(),
                      .rows = reader.nodes(),
                      .header = reader.TakeHeader(),
                      .columns = {}};
    for (ColumnBuilder& column : columns_) {
      REPRISE_ASSIGN(table.columns.emplace_back(), column.Finish(table.rows, reader.path()));
    }
    return table;
  }

 private:
  enum Fixed : std::size_t { kId, kName, kType, kStart, kDuration, kFixedColumns };

  void Start(std::string_view name, ColumnKind kind) {
    by_name_.emplace(name, columns_.size());
    columns_.emplace_back(name, kind);
  }
  // Attributes come in the same order in almost every node: `expected` is tried first.
  [[nodiscard]] Result<std::size_t> Find(const RawAttribute& attribute, std::size_t expected,
                                         const AttributeReader& reader) {
    if (expected < columns_.size() && columns_[expected].name() == attribute.name) {
      return expected;
    }
    if (const auto found = by_name_.find(std::string(attribute.name)); found != by_name_.end()) {
      if (found->second < kFixedColumns) {
        return reader.Refuse(attribute.name, "has the name of a column");
      }
      return found->second;
    }
    const std::optional<ColumnKind> kind = KindOf(attribute);
    if (!kind || columns_.size() == kMostColumns || !IsValidUtf8(attribute.name)) {
      return reader.Refuse(attribute.name,
                           "is no column: a list of reals, booleans or bytes, a "
                           "name that is not UTF-8, or one of too many names");
    }
    Start(attribute.name, *kind);
    return columns_.size() - 1;
  }
  [[nodiscard]] Status AddTime(Fixed column, const std::optional<RawAttribute>& attribute,
                               std::uint64_t micros, const AttributeReader& reader) {
    if (attribute) {
      const Misfit why = columns_[column].Add(reader.row(), *attribute);
      return why.empty() ? Status() : Status(reader.Refuse(attribute->name, why));
    }
    if (micros > std::numeric_limits<std::uint64_t>::max() / kNanosecondsPerMicrosecond) {
      return reader.Refuse(columns_[column].name(), "is beyond 2^64 ns");
    }
    columns_[column].AddNumber(reader.row(), micros * kNanosecondsPerMicrosecond, true);
    return {};
  }

  std::vector<ColumnBuilder> columns_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

// The texts of inputs and outputs.
class ArgumentTable {
 public:
  void Add(std::uint32_t row, const MessageFields& node) {
    const std::array<std::string_view, kColumns> texts = {node.inputs.values,  node.inputs.shapes,
                                                          node.inputs.types,   node.outputs.values,
                                                          node.outputs.shapes, node.outputs.types};
    for (std::size_t i = 0; i < kColumns; ++i) {
      static_cast<void>(columns_.at(i).AddText(row, texts.at(i)));  // which the reader checked
    }
  }
  [[nodiscard]] Status Finish(const std::string& path, ColumnTable& table) {
    for (ColumnBuilder& column : columns_) {
      REPRISE_ASSIGN(table.columns.emplace_back(), column.Finish(table.rows, path));
    }
    return {};
  }

 private:
  static constexpr std::size_t kColumns = 6;
  std::array<ColumnBuilder, kColumns> columns_ = {
      ColumnBuilder("inputs.values", ColumnKind::kText),
      ColumnBuilder("inputs.shapes", ColumnKind::kText),
      ColumnBuilder("inputs.types", ColumnKind::kText),
      ColumnBuilder("outputs.values", ColumnKind::kText),
      ColumnBuilder("outputs.shapes", ColumnKind::kText),
      ColumnBuilder("outputs.types", ColumnKind::kText)};
};

}  // namespace

Result<ColumnTable> ReadNodeColumns(const std::string& path, bool arguments) {
  REPRISE_ASSIGN(AttributeReader reader, AttributeReader::Open(path));
  NodeTable nodes;
  ArgumentTable texts;
  for (;;) {
    REPRISE_ASSIGN(const bool more, reader.Next());
    if (!more) {
      break;
    }
    REPRISE_TRY(nodes.Add(reader));
    if (arguments) {
      texts.Add(reader.row(), reader.fields());
    }
  }
  REPRISE_ASSIGN(ColumnTable table, nodes.Finish(reader));
  if (arguments) {
    REPRISE_TRY(texts.Finish(path, table));
  }
  return table;
}

Result<ColumnTable> ReadEdgeColumns(const std::string& path) {
  REPRISE_ASSIGN(AttributeReader reader, AttributeReader::Open(path));
  ColumnBuilder from("from_node", ColumnKind::kInteger);
  ColumnBuilder to("to_node", ColumnKind::kInteger);
  ColumnBuilder reason("reason", ColumnKind::kInteger);
  ColumnBuilder inferred("inferred", ColumnKind::kBoolean);
  std::vector<std::uint64_t> data_deps;
  std::uint32_t row = 0;
  const auto add = [&](std::uint64_t before, std::uint64_t after, std::int64_t why) {
    const bool known = why % kInferredReason <= static_cast<std::int64_t>(EdgeReason::kControl);
    from.AddNumber(row, before, true);
    to.AddNumber(row, after, true);
    reason.AddBits(row, known ? static_cast<std::uint64_t>(why % kInferredReason) : 0);
    inferred.AddBits(row, why >= kInferredReason ? 1 : 0);
    ++row;
  };
  for (;;) {
    REPRISE_ASSIGN(const bool more, reader.Next());
    if (!more) {
      break;
    }
    const MessageFields& node = reader.fields();
    if (row >
        std::numeric_limits<std::uint32_t>::max() - node.data_deps.size() - node.ctrl_deps.size()) {
      return reader.Refuse("more dependencies than 2^32");
    }
    REPRISE_TRY(reader.CheckAttributes());
    REPRISE_ASSIGN(const std::vector<std::int64_t> reasons, DependencyReasons(reader));
    const bool parallel = reasons.size() == node.data_deps.size();
    for (std::size_t i = 0; i < node.data_deps.size(); ++i) {
      add(node.data_deps[i], node.id, parallel ? reasons[i] : 0);
    }
    if (!node.ctrl_deps.empty()) {
      data_deps = node.data_deps;
      std::ranges::sort(data_deps);
    }
    for (const std::uint64_t before : node.ctrl_deps) {
      if (!std::ranges::binary_search(data_deps, before)) {
        add(before, node.id, static_cast<std::int64_t>(EdgeReason::kControl));
      }
    }
  }
  ColumnTable table{
      .nodes = reader.nodes(), .rows = row, .header = reader.TakeHeader(), .columns = {}};
  for (ColumnBuilder* column : {&from, &to, &reason, &inferred}) {
    REPRISE_ASSIGN(table.columns.emplace_back(), column->Finish(row, path));
  }
  return table;
}

}  // namespace reprise
