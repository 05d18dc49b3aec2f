#include "report/run/run_texts.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "core/checksums.h"
#include "core/input_file.h"
#include "core/parse_json.h"
#include "core/sqlite/database.h"
#include "report/run/provenance.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/run/schema_check.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

void AddTexts(const nlohmann::json& value, const std::string& key, std::vector<RunText>& texts) {
  if (value.is_string()) {
    texts.push_back({"manifest.json", key, value.get<std::string>(), 1});
  } else if (value.is_structured()) {
    for (const auto& [name, inner] : value.items()) {
      AddTexts(inner,
               value.is_array() ? key
               : key.empty()    ? name
                                : fmt::format("{}.{}", key, name),
               texts);
    }
  }
}

Status AddTexts(Database& database, const RunTable& table, std::vector<RunText>& texts) {
  for (const RunColumn& column : table.columns) {
    const bool is_text = column.type == ColumnType::kText || column.type == ColumnType::kLines;
    if (!is_text && FindProvenanceField(table.name, column.name) == nullptr) {
      continue;
    }
    // A fact's value goes with its name.
    const bool fact = table.name == "facts";
    if (fact && column.name != "value") {
      continue;
    }
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format(
                       "SELECT {0}, {1}, count(*) FROM {2} GROUP BY {0}, {1}",
                       fact ? "name" : fmt::format("'{}'", column.name), column.name, table.name)));
    for (;;) {
      REPRISE_ASSIGN(const bool more, select.Next());
      if (!more) {
        break;
      }
      texts.push_back({std::string(table.name), std::string(select.View(0)),
                       is_text ? std::string(select.View(1)) : std::to_string(select.Int(1)),
                       static_cast<std::uint64_t>(select.Int(2))});
    }
  }
  return {};
}

}  // namespace

Result<RunTexts> ReadTexts(const std::string& directory) {
  REPRISE_ASSIGN(const RunManifest manifest, ReadManifest(directory));
  REPRISE_ASSIGN(const std::string json, ReadJsonText(ManifestPath(directory)));
  RunTexts found{.texts = {}, .files = 1};
  AddTexts(ParseJson<nlohmann::json>(json, /*throws=*/false), "", found.texts);
  std::vector<std::string> paths = {MergedPath(directory)};
  for (std::int32_t rank = 0; rank < manifest.world_size; ++rank) {
    paths.push_back(RankPath(directory, rank));
  }
  REPRISE_ASSIGN(const Checksums checksums, Checksums::Read(directory));
  REPRISE_TRY(checksums.Verify(fs::path(ManifestPath(directory)).filename()));
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      continue;
    }
    REPRISE_TRY(checksums.Verify(fs::path(path).filename()));
    REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
    REPRISE_TRY(CheckSchema(database, path));
    for (const RunTable& table : RunTables()) {
      if (table.place != TablePlace::kOwnFile || path != paths.front()) {
        REPRISE_TRY(AddTexts(database, table, found.texts));
      }
    }
    ++found.files;
  }
  return found;
}

}  // namespace reprise
