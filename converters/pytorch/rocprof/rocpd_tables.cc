#include "converters/pytorch/rocprof/rocpd_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reprise::pytorch {
namespace {

constexpr std::string_view kDispatches = "rocpd_kernel_dispatch";

}  // namespace

bool IsRocpdDatabase(const std::string& path) {
  return BeginsAsDatabase(path) && RocpdTables::Open(path).has_value();
}

Result<RocpdTables> RocpdTables::Open(const std::string& path) {
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  RocpdTables out(std::move(database), path);
  REPRISE_TRY(out.List());
  if (out.endings_.empty()) {
    return BadInput(fmt::format(
        "{}: an SQLite database, but none of rocprofv3: expected the tables rocpd_string… and "
        "rocpd_kernel_dispatch…; profile with `rocprofv3 --kernel-trace --output-format rocpd`",
        path));
  }
  return out;
}

Status RocpdTables::List() {
  REPRISE_ASSIGN(const std::vector<PlainTable> all, database_.PlainTables());
  for (const PlainTable& one : all) {
    if (!one.name.starts_with("rocpd_")) {
      continue;
    }
    Table table{.columns = {one.columns.begin(), one.columns.end()}, .keyed = one.key == "id"};
    tables_.insert_or_assign(one.name, std::move(table));
  }
  for (const auto& [name, table] : tables_) {
    if (name.starts_with(kDispatches) &&
        tables_.contains("rocpd_string" + name.substr(kDispatches.size()))) {
      endings_.push_back(name.substr(kDispatches.size()));
    }
  }
  return {};
}

const RocpdTables::Table* RocpdTables::Find(const std::string& ending,
                                            std::string_view table) const {
  const auto found = tables_.find(fmt::format("rocpd_{}{}", table, ending));
  return found == tables_.end() ? nullptr : &found->second;
}

bool RocpdTables::HasColumn(const std::string& ending, std::string_view table,
                            std::string_view column) const {
  const Table* const found = Find(ending, table);
  return found != nullptr && found->columns.contains(column);
}

std::string RocpdTables::Name(const std::string& ending, std::string_view table) const {
  return QuotedIdentifier(fmt::format("rocpd_{}{}", table, ending));
}

bool RocpdTables::Leads(const std::string& ending, std::string_view table, std::string_view by,
                        std::string_view to) const {
  const Table* const there = Find(ending, to);
  return HasColumn(ending, table, by) && there != nullptr && there->keyed;
}

std::string RocpdTables::Column(const std::string& ending, std::string_view table,
                                std::string_view column) const {
  constexpr std::string_view kEvent = "event.";
  if (column.starts_with(kEvent)) {
    const std::string_view own = column.substr(kEvent.size());
    return Leads(ending, table, "event_id", "event") && HasColumn(ending, "event", own)
               ? "E." + QuotedIdentifier(own)
               : "NULL";
  }
  if (HasColumn(ending, table, column)) {
    return "T." + QuotedIdentifier(column);
  }
  for (const auto& [time, by] : {std::pair("start", "start_id"), std::pair("end", "end_id")}) {
    if (column == time && Leads(ending, table, by, "timestamp")) {
      return fmt::format("AT_{}.value", time);
    }
  }
  return column != "id" && Leads(ending, table, "track_id", "track") &&
                 HasColumn(ending, "track", column)
             ? "K." + QuotedIdentifier(column)
             : "NULL";
}

std::string RocpdTables::From(const std::string& ending, std::string_view table) const {
  struct Join {
    std::string_view by, to, as;
  };
  constexpr std::array<Join, 4> kJoins = {{{"event_id", "event", "E"},
                                           {"track_id", "track", "K"},
                                           {"start_id", "timestamp", "AT_start"},
                                           {"end_id", "timestamp", "AT_end"}}};
  std::string out = " FROM " + Name(ending, table) + " AS T";
  for (const Join& join : kJoins) {
    if (Leads(ending, table, join.by, join.to)) {
      out += fmt::format(" LEFT JOIN {} AS {} ON {}.id = T.{}", Name(ending, join.to), join.as,
                         join.as, join.by);
    }
  }
  return out;
}

Result<Statement> RocpdTables::Select(const std::string& ending, std::string_view table,
                                      std::initializer_list<std::string_view> columns,
                                      const std::int64_t* process) {
  std::string sql;
  for (const std::string_view column : columns) {
    sql += (sql.empty() ? "SELECT " : ", ") + Column(ending, table, column);
  }
  if (Find(ending, table) == nullptr) {
    return database_.Prepare(sql + " WHERE 0");
  }
  sql += From(ending, table);
  const std::string of = Column(ending, table, "pid");
  if (process != nullptr && of != "NULL") {
    sql += fmt::format(" WHERE {} = {}", of, *process);
  }
  return database_.Prepare(sql);
}

Result<std::string_view> RocpdTables::Text(const std::string& ending, std::int64_t id) {
  if (!has_texts_ || texts_of_ != ending) {
    texts_.clear();
    REPRISE_ASSIGN(Statement all, Select(ending, "string", {"id", "string"}));
    for (;;) {
      REPRISE_ASSIGN(const bool more, all.Next());
      if (!more) {
        break;
      }
      texts_.insert_or_assign(all.Int(0), std::string(all.View(1)));
    }
    texts_of_ = ending;
    has_texts_ = true;
  }
  const auto found = texts_.find(id);
  return found == texts_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace reprise::pytorch
