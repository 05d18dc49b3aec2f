#include "converters/pytorch/nsight/nsight_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kStrings = "StringIds";

// "NVTX_EVENTS_V3" → "NVTX_EVENTS" and 3.
std::pair<std::string, int> WithoutVersion(const std::string& name) {
  const std::size_t at = name.rfind("_V");
  if (at != std::string::npos) {
    if (const auto version = ParseNumber<int>(std::string_view(name).substr(at + 2))) {
      return {name.substr(0, at), *version};
    }
  }
  return {name, 0};
}

}  // namespace

bool IsNsightExport(const std::string& path) {
  return BeginsAsDatabase(path) && NsightTables::Open(path).has_value();
}

Result<NsightTables> NsightTables::Open(const std::string& path) {
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  NsightTables out(std::move(database), path);
  REPRISE_TRY(out.List());
  const bool work = std::ranges::any_of(out.tables_, [](const auto& table) {
    return table.first.starts_with("CUPTI_ACTIVITY_KIND_") || table.first == "NVTX_EVENTS";
  });
  if (!out.Has(kStrings) || !work) {
    return BadInput(fmt::format(
        "{}: an SQLite database, but no export of Nsight Systems with work on a GPU: expected the "
        "tables StringIds and CUPTI_ACTIVITY_KIND_KERNEL; profile with `nsys profile "
        "--trace=cuda,nvtx`, and export with `nsys export --type sqlite`",
        path));
  }
  return out;
}

Status NsightTables::List() {
  REPRISE_ASSIGN(const std::vector<PlainTable> all, database_.PlainTables());
  std::map<std::string, int> newest;
  for (const PlainTable& one : all) {
    const auto [plain, version] = WithoutVersion(one.name);
    const auto [at, fresh] = newest.try_emplace(plain, version);
    if (!fresh && version < at->second) {
      continue;
    }
    at->second = version;
    tables_.insert_or_assign(
        plain, Table{.name = one.name, .columns = {one.columns.begin(), one.columns.end()}});
  }
  return {};
}

bool NsightTables::HasColumn(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.columns.contains(column);
}

Result<Statement> NsightTables::Select(std::string_view table,
                                       std::initializer_list<std::string_view> columns,
                                       const std::string& condition) {
  const bool there = Has(table);
  std::string sql = "SELECT ";
  for (const std::string_view column : columns) {
    sql += sql.back() == ' ' && sql.size() == 7 ? "" : ", ";
    sql += HasColumn(table, column) ? QuotedIdentifier(column) : "NULL";
  }
  if (there) {
    sql += " FROM " + QuotedIdentifier(tables_.find(table)->second.name);
  }
  sql += !there ? " WHERE 0" : condition.empty() ? "" : " WHERE " + condition;
  return database_.Prepare(sql);
}

Result<std::string_view> NsightTables::Text(std::int64_t id) {
  if (!texts_) {  // at once: the table may have no index
    texts_.emplace();
    REPRISE_ASSIGN(Statement all, Select(kStrings, {"id", "value"}));
    for (;;) {
      REPRISE_ASSIGN(const bool more, all.Next());
      if (!more) {
        break;
      }
      texts_->insert_or_assign(all.Int(0), std::string(all.View(1)));
    }
  }
  const auto found = texts_->find(id);
  return found == texts_->end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace reprise::pytorch
