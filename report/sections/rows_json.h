// Rows as a JSON array, what is unknown as null. Only report/ sees this.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace reprise {

using Json = nlohmann::ordered_json;

template <typename T>
[[nodiscard]] Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename Row>
[[nodiscard]] Json RowsJson(const std::vector<Row>& rows, Json (*to_json)(const Row&)) {
  Json json = Json::array();
  for (const Row& row : rows) {
    json.push_back(to_json(row));
  }
  return json;
}

}  // namespace reprise
