// Structs as JSON objects whose members have the names of the structs' own: what is unknown is
// null, an enum is its name. A field that is listed here is part of a format that docs/ describes:
// renaming it renames the member. At most 63 fields a list (NLOHMANN_JSON_PASTE).
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

// Adds members of the struct `from` to the object `to`, in the order given.
#define REPRISE_ADD_FIELDS(to, from, ...)                                     \
  {                                                                           \
    auto& json_object = (to);                                                 \
    const auto& json_struct = (from);                                         \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(REPRISE_ADD_FIELD, __VA_ARGS__)) \
  }
#define REPRISE_ADD_FIELD(member) json_object[#member] = json_struct.member;
// Makes a struct an object of these members, wherever it stands.
#define REPRISE_JSON_FIELDS(Struct, ...) \
  inline void to_json(Json& json, const Struct& row) { REPRISE_ADD_FIELDS(json, row, __VA_ARGS__) }

namespace reprise {

using Json = nlohmann::ordered_json;

template <typename Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) {
  { Name(value) } -> std::convertible_to<std::string_view>;
};
template <NamedEnum Enum>
void to_json(Json& json, Enum value) {
  json = Name(value);
}

[[nodiscard]] inline Json NullIfEmpty(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace reprise

template <typename T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(reprise::Json& json, const std::optional<T>& value) {
    if (value) {
      json = *value;
    } else {
      json = nullptr;
    }
  }
};
