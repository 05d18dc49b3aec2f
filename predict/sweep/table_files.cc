// A sweep's table as JSON and CSV.
#include <fmt/format.h>

#include <algorithm>

#include "core/json_fields.h"
#include "core/parse_json.h"
#include "core/shown_text.h"
#include "predict/sweep/table.h"

namespace reprise {
namespace {

constexpr char kTableFormat[] = "reprise-sweep";
constexpr int kTableVersion = 3;

std::string CsvText(const Json& value) {
  return value.is_null()     ? ""
         : value.is_string() ? CsvField(value.get<std::string>())
                             : value.dump();
}

}  // namespace

std::string SweepJson(const SweepTable& table) {
  Json keys = Json::array();
  for (const SweepKey& key : table.keys) {
    keys.push_back(key.name);
  }
  Json rows = Json::array();
  for (const SweepRow& row : table.rows) {
    rows.push_back(RowJson(table.keys, row));
  }
  const Json whole = {{"warnings", SweepWarnings(table)},
                      {"format", kTableFormat},
                      {"version", kTableVersion},
                      {"title", table.title},
                      {"ranked_by", table.rank_by},
                      {"swept", std::move(keys)},
                      {"several_models", table.several_models},
                      {"modelled", true},
                      {"configurations", std::move(rows)}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SweepTable> ParseSweepTable(std::string_view text, const std::string& origin) {
  const Json json = ParseJson<Json>(text, /*throws=*/false);
  const auto wrong = [&origin] {
    return BadInput(
        fmt::format("{}: expected the table of a sweep, as this version's `reprise sweep` writes "
                    "it; sweep again",
                    origin));
  };
  if (!json.is_object() || json.value("format", Json()) != kTableFormat ||
      json.value("version", Json()) != kTableVersion ||
      !json.value("several_models", Json()).is_boolean() ||
      !json.value("configurations", Json()).is_array() || !json.value("swept", Json()).is_array()) {
    return wrong();
  }
  SweepTable table;
  for (auto [key, member] :
       {std::pair("title", &table.title), std::pair("ranked_by", &table.rank_by)}) {
    const Json value = json.value(key, Json());
    if (!value.is_string()) {
      return wrong();
    }
    *member = value.get<std::string>();
  }
  table.several_models = json["several_models"].get<bool>();
  for (const Json& key : json["swept"]) {
    if (!key.is_string()) {
      return wrong();
    }
    table.keys.push_back({.name = key.get<std::string>()});
  }
  for (const Json& row : json["configurations"]) {
    REPRISE_ASSIGN(table.rows.emplace_back(), ParseRow(table.keys, row, origin));
  }
  REPRISE_TRY(RankRows(table));
  return table;
}

void WriteCsv(const SweepTable& table, std::ostream& out) {
  std::vector<Json> rows;
  std::vector<std::string> columns;  // of all rows, in the order in which they first come
  for (const SweepRow& row : table.rows) {
    rows.push_back(RowJson(table.keys, row));
    for (const auto& [key, value] : rows.back().items()) {
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
      out << (c > 0 ? "," : "") << (at == row.end() ? std::string() : CsvText(*at));
    }
    out << "\n";
  }
}

}  // namespace reprise
