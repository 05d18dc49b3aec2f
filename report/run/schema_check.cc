#include "report/run/schema_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "core/shown_text.h"
#include "report/run/schema.h"

namespace reprise {
namespace {

bool IsWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Columns are computed after AS alone, in any case of letters; no column has that name.
bool HasComputedColumns(std::string_view sql) {
  for (std::size_t i = 0; i + 1 < sql.size(); ++i) {
    const bool begins = i == 0 || !IsWordByte(sql[i - 1]);
    const bool ends = i + 2 == sql.size() || !IsWordByte(sql[i + 2]);
    if (begins && ends && (sql[i] == 'A' || sql[i] == 'a') &&
        (sql[i + 1] == 'S' || sql[i + 1] == 's')) {
      return true;
    }
  }
  return false;
}

// Of what the file's schema is made of; SQLite takes the statement as it stands, not the name and
// type beside it.
bool IsSound(std::string_view sql) {
  static const std::vector<std::string> views = RankViews();
  if (sql.starts_with("CREATE TABLE ")) {
    return !HasComputedColumns(sql);
  }
  return sql.starts_with("CREATE INDEX ") || sql.starts_with("CREATE UNIQUE INDEX ") ||
         std::ranges::find(views, sql) != views.end();
}

Status CheckStatements(Database& database, const std::string& path) {
  REPRISE_ASSIGN(Statement select,
                 database.Prepare("SELECT sql, name FROM sqlite_master WHERE sql IS NOT NULL"));
  for (;;) {
    REPRISE_ASSIGN(const bool more, select.Next());
    if (!more) {
      return {};
    }
    if (!IsSound(select.View(0))) {
      return BadInput(fmt::format(
          "{}: reprise did not define its {}, and reading the file may run that definition; drop "
          "it, or get the run from its source again",
          path, ShownText(select.View(1))));
    }
  }
}

}  // namespace

Result<std::int64_t> CheckSchema(Database& database, const std::string& path) {
  REPRISE_ASSIGN(Statement select, database.Prepare("PRAGMA user_version"));
  REPRISE_ASSIGN(const bool found, select.Next());
  const std::int64_t version = found ? select.Int(0) : 0;
  if (version == 0) {
    return BadInput(path + ": not written by reprise (no schema version in it)");
  }
  if (version < kOldestRunSchema || version > kRunSchemaVersion) {
    return BadInput(fmt::format(
        "{}: has schema version {}, this program reads {} to {}: replay the trace again with "
        "this program, or read the run with the version of reprise that wrote it",
        path, version, kOldestRunSchema, kRunSchemaVersion));
  }
  REPRISE_TRY(CheckStatements(database, path));
  return version;
}

}  // namespace reprise
