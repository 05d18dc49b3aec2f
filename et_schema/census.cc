#include "et_schema/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/utf8.h"
#include "et_schema/foreign_fields.h"
#include "et_schema/header_fields.h"
#include "et_schema/header_lists.h"
#include "et_schema/message_reader.h"
#include "et_schema/raw_node.h"
#include "et_schema/storage_fields.h"

namespace reprise {
namespace {

constexpr std::string_view kHeaderNames[] = {"", "version", "attr"};
constexpr std::string_view kNodeNames[] = {"",
                                           "id",
                                           "name",
                                           "type",
                                           "ctrl_deps",
                                           "data_deps",
                                           "start_time_micros",
                                           "duration_micros",
                                           "inputs",
                                           "outputs",
                                           "attr",
                                           "storage"};
constexpr std::string_view kIoNames[] = {"", "values", "shapes", "types"};
constexpr std::string_view kAttr = "attr";
constexpr std::string_view kStorage = "storage";
constexpr std::size_t kStorageNumbers = 16;  // more than a message of StorageInfo has
// By field number; empty: the schema has no such field.
constexpr auto kStorageNames = [] {
  std::array<std::string_view, kStorageNumbers> names{};
  names.at(kStorageLevelField) = "level";
  ForEachStorageOperation([&]<typename Operation>(std::type_identity<Operation>) {
    names.at(StorageTable<Operation>::kNumber) = StorageTable<Operation>::kName;
  });
  return names;
}();
template <typename Operation>
constexpr auto kOperationNames = [] {
  std::array<std::string_view, kStorageNumbers> names{};
  ForEachStorageField<Operation>([&](const auto& row) { names.at(row.number) = row.name; });
  return names;
}();

bool IsStorageText(std::string_view field) {
  bool text = false;
  ForEachStorageOperation([&]<typename Operation>(std::type_identity<Operation>) {
    ForEachStorageField<Operation>(
        [&](const auto& row) { text = text || (row.kIsText && row.name == field); });
  });
  return text;
}

class CensusTaker {
 public:
  explicit CensusTaker(Census& census) : census_(census) {}

  // False: no message of the wire format.
  bool Message(std::string_view message, std::string_view prefix,
               std::span<const std::string_view> names) {
    return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
      const bool known = field < names.size() && !names[field].empty();
      const std::string name = known ? fmt::format("{}{}", prefix, names[field])
                                     : fmt::format("{}field {}", prefix, field);
      if (wire != WireType::kBytes) {
        ++census_.fields[name].count;
        return std::optional<bool>();
      }
      std::string_view bytes;
      return std::optional(cursor.Bytes(bytes) && Content(name, known ? names[field] : "", bytes));
    });
  }

 private:
  bool Content(const std::string& name, std::string_view field, std::string_view bytes) {
    if (field == kAttr) {
      return Attribute(name, bytes);
    }
    if (field == "inputs" || field == "outputs") {
      return Message(bytes, name + ".", kIoNames);
    }
    if (field == kStorage) {
      return Message(bytes, name + ".", kStorageNames);
    }
    std::optional<bool> operation;
    ForEachStorageOperation([&]<typename Operation>(std::type_identity<Operation>) {
      if (field == StorageTable<Operation>::kName) {
        operation = Message(bytes, name + ".", kOperationNames<Operation>);
      }
    });
    if (operation) {
      return *operation;
    }
    Census::Field& to = census_.fields[name];
    ++to.count;
    if (field == "values") {
      Quoted(bytes, to);
    } else if (field.empty() || field == "name" || field == "version" || IsStorageText(field)) {
      Text(bytes, to);
    }
    return true;
  }

  bool Attribute(const std::string& prefix, std::string_view bytes) {
    RawAttribute attribute;
    if (!ParseAttribute(bytes, attribute)) {
      return false;
    }
    Census::Field& to = census_.fields[prefix + "." + ReplaceInvalidUtf8(attribute.name)];
    ++to.count;
    constexpr std::uint32_t kStringField = 29;  // and lists of strings, bytes, lists of those
    std::vector<std::string_view> texts;
    if (attribute.AsTexts(texts)) {
      for (const std::string_view text : texts) {
        Text(text, to);
      }
    } else if (attribute.field >= kStringField) {
      Text(attribute.bytes, to);
    }
    return true;
  }

  // Argument lists are Python's text; quotes inside of strings are escaped.
  static void Quoted(std::string_view list, Census::Field& to) {
    for (std::size_t at = list.find_first_of("'\""); at != std::string_view::npos;) {
      std::size_t end = at + 1;
      while (end < list.size() && list[end] != list[at]) {
        end += list[end] == '\\' ? 2 : 1;
      }
      Text(list.substr(at + 1, std::min(end, list.size()) - at - 1), to);
      at = end < list.size() ? list.find_first_of("'\"", end + 1) : std::string_view::npos;
    }
  }

  static void Text(std::string_view text, Census::Field& to) {
    const auto known = to.texts.find(text);
    ++(known != to.texts.end() ? known->second : to.texts[ReplaceInvalidUtf8(text)]);
  }

  Census& census_;
};

}  // namespace

void Census::Merge(const Census& other) {
  nodes += other.nodes;
  for (const auto& [name, field] : other.fields) {
    Field& to = fields[name];
    to.count += field.count;
    for (const auto& [text, count] : field.texts) {
      to.texts[text] += count;
    }
  }
}

bool IsSchemaField(std::string_view name) {
  constexpr std::string_view kNodePrefix = "node.";
  constexpr std::string_view kHeaderPrefix = "header.";
  const bool node = name.starts_with(kNodePrefix);
  if (!node && !name.starts_with(kHeaderPrefix)) {
    return false;
  }
  name.remove_prefix(node ? kNodePrefix.size() : kHeaderPrefix.size());
  const auto has = [&name](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (name.starts_with("attr.")) {
    name.remove_prefix(kAttr.size() + 1);
    const auto among = [&name](const auto&... tables) {
      bool found = false;
      (ForEachAttribute(tables, [&](const auto& row) { found = found || row.name == name; }), ...);
      return found;
    };
    return node ? among(kAttributes)
                : among(kHeaderFields, kMachineFields, kPlacementFields, kClockFields, kHeaderLists,
                        std::tuple{kFormatMark, kNodeCountMark});
  }
  for (const std::string_view list : {"inputs.", "outputs."}) {
    if (node && name.starts_with(list)) {
      name.remove_prefix(list.size());
      return has(kIoNames);
    }
  }
  if (node && name.starts_with(kStorage) && name != kStorage) {
    name.remove_prefix(kStorage.size() + 1);
    bool found = has(kStorageNames);
    ForEachStorageOperation([&]<typename Operation>(std::type_identity<Operation>) {
      constexpr std::string_view kName = StorageTable<Operation>::kName;
      found =
          found ||
          (name.starts_with(kName) && name.size() > kName.size() + 1 && name[kName.size()] == '.' &&
           std::ranges::count(kOperationNames<Operation>, name.substr(kName.size() + 1)) > 0);
    });
    return found;
  }
  return node ? has(kNodeNames) : has(kHeaderNames);
}

Result<Census> TakeCensus(const std::string& path) {
  REPRISE_ASSIGN(auto messages, MessageReader::Open(path));
  Census census;
  CensusTaker taker(census);
  std::string_view message;
  for (bool header = true;; header = false) {
    REPRISE_ASSIGN(const bool more, messages.Next(message));
    if (!more) {
      return census;
    }
    if (!(header ? taker.Message(message, "header.", kHeaderNames)
                 : taker.Message(message, "node.", kNodeNames))) {
      return BadInput(fmt::format("{}: no message at byte {}: not an .et file, or damaged", path,
                                  messages.offset()));
    }
    census.nodes += header ? 0 : 1;
  }
}

}  // namespace reprise
