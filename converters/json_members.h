// Members of JSON objects, and what they hold.
#pragma once

#include <simdjson.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace reprise {

using JsonMember = simdjson::simdjson_result<simdjson::dom::element>;

// A value, if it is of that type; else, also for a member that is not there, `otherwise`.
template <typename Value, typename T>
[[nodiscard]] T GetOr(const Value& value, T otherwise) {
  T out{};
  return value.get(out) == simdjson::SUCCESS ? out : otherwise;
}
// Views into the document.
template <typename Value>
[[nodiscard]] std::string_view TextOr(const Value& value) {
  return GetOr(value, std::string_view());
}

// The members of these names, found in one walk; of two of a name, the first.
template <std::size_t kCount>
[[nodiscard]] std::array<JsonMember, kCount> FindMembers(simdjson::dom::element root,
                                                         const std::string_view (&names)[kCount]) {
  std::array<JsonMember, kCount> out;
  out.fill(JsonMember(simdjson::NO_SUCH_FIELD));
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    return out;
  }
  for (const auto& [key, value] : object) {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (key == names[i]) {
        out[i] = out[i].error() == simdjson::SUCCESS ? out[i]
                                                     : JsonMember(simdjson::dom::element(value));
        break;
      }
    }
  }
  return out;
}

}  // namespace reprise
