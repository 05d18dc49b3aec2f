// Rows as a JSON array, what is unknown as null. Only report/ sees this.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace reprise {

template <typename T>
[[nodiscard]] nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

template <typename Row>
[[nodiscard]] nlohmann::ordered_json RowsJson(const std::vector<Row>& rows,
                                              nlohmann::ordered_json (*to_json)(const Row&)) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    json.push_back(to_json(row));
  }
  return json;
}

}  // namespace reprise
