#include "cli/csv_rows.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/json_fields.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

std::string FieldOf(const Json& value) {
  if (value.is_null()) {
    return {};
  }
  if (value.is_array()) {
    std::string text;
    for (const Json& item : value) {
      text += (text.empty() ? "" : ";") + item.dump();
    }
    return text;
  }
  return value.is_string() ? CsvField(value.get<std::string>()) : value.dump();
}

}  // namespace

void WriteCsv(const Json& rows, std::ostream& out) {
  std::vector<std::string> columns;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (std::ranges::find(columns, key) == columns.end()) {
        columns.push_back(key);
      }
    }
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    out << (c > 0 ? "," : "") << CsvField(columns[c]);
  }
  out << "\n";
  for (const Json& row : rows) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto at = row.find(columns[c]);
      out << (c > 0 ? "," : "") << (at == row.end() ? std::string() : FieldOf(*at));
    }
    out << "\n";
  }
}

}  // namespace reprise
