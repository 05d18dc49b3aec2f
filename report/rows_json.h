// A list of rows as a JSON array. Only report/ sees this.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace reprise {

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
