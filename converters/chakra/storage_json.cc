#include "converters/chakra/storage_json.h"

#include <cstdint>
#include <string_view>

#include "converters/chakra/json_values.h"
#include "et_schema/storage_fields.h"

namespace reprise::chakra {
namespace {

using simdjson::dom::element;

// Chakra's name of a number, or the number.
std::optional<std::int64_t> NumberOf(const SchemaNames& names, element value) {
  if (std::string_view text;
      value.get(text) == simdjson::SUCCESS && text.starts_with(names.prefix)) {
    const std::string name = LowerCase(text.substr(names.prefix.size()));
    for (std::size_t i = 0; i < names.names.size(); ++i) {
      if (!names.names[i].empty() && names.names[i] == name) {
        return static_cast<std::int64_t>(i);
      }
    }
  }
  return Integer<std::int64_t>(value);
}

// False: of the wrong type.
template <typename Row, typename T>
bool ReadJsonField(const Row& row, element value, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    std::string_view text;
    const bool ok = value.get(text) == simdjson::SUCCESS;
    out = text;
    return ok;
  } else {
    std::optional<std::int64_t> number;
    if constexpr (std::is_same_v<T, SchemaNumber>) {
      number = row.names != nullptr ? NumberOf(*row.names, value) : Integer<std::int64_t>(value);
    } else if (const auto large = Integer<std::uint64_t>(value)) {
      number = static_cast<std::int64_t>(*large);
    }
    out = static_cast<T>(number.value_or(0));
    return number.has_value();
  }
}

template <typename Operation>
void ReadOperation(element json, Operation& operation, std::vector<std::string>& odd) {
  simdjson::dom::object fields;
  if (json.get(fields) != simdjson::SUCCESS) {
    odd.emplace_back(StorageTable<Operation>::kName);
    return;
  }
  for (const auto& field : fields) {
    bool read = false;
    ForEachStorageField<Operation>([&](const auto& row) {
      if (Normal(field.key) == Normal(row.name)) {
        read = ReadJsonField(row, field.value, row.Of(operation));
      }
    });
    if (!read) {
      odd.emplace_back(field.key);
    }
  }
}

}  // namespace

std::vector<std::string> ReadStorageJson(element json, std::optional<StorageWork>& work) {
  std::vector<std::string> odd;
  StorageWork& out = work.emplace();
  for (const auto& field : simdjson::dom::object(json)) {
    bool known = false;
    if (field.key == "level") {
      const auto level = NumberOf(schema_names::kLevel, field.value);
      out.level = static_cast<SchemaNumber>(level.value_or(0));
      known = level.has_value();
    }
    ForEachStorageOperation([&]<typename Operation>(std::type_identity<Operation>) {
      if (field.key == StorageTable<Operation>::kName) {
        ReadOperation(field.value, out.detail.template emplace<Operation>(), odd);
        known = true;
      }
    });
    if (!known) {
      odd.emplace_back(field.key);
    }
  }
  return odd;
}

}  // namespace reprise::chakra
