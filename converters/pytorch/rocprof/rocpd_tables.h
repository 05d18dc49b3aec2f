// The tables of a database of rocprofv3 (rocpd, schema version 3; rocprofiler-sdk,
// source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql). Their names end with a number of their own
// for each recorded process; merged databases hold several. What versions of the schema keep in a
// table itself, others keep in tables beside it: times, and which thread or stream a row is of.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/sqlite/database.h"

namespace reprise::pytorch {

// Whether the file is SQLite's and has tables of rocpd.
[[nodiscard]] bool IsRocpdDatabase(const std::string& path);

// Not thread-safe: each thread opens the file for itself.
class RocpdTables {
 public:
  // Bad input: no such file.
  static Result<RocpdTables> Open(const std::string& path);

  // What names of tables end with, one for each set of tables: "_00003a4f_…".
  [[nodiscard]] const std::vector<std::string>& endings() const { return endings_; }

  // These columns of all rows of rocpd_<table><ending>, in the file's order. "event.stack_id": of
  // the row's event. NULL stands for what the file does not have. `process`: rows of this "pid",
  // where the table says it. No row where there is no such table.
  [[nodiscard]] Result<Statement> Select(const std::string& ending, std::string_view table,
                                         std::initializer_list<std::string_view> columns,
                                         const std::int64_t* process = nullptr);
  // As SQL: of `table`, as `Select` names it, with what is behind FROM. For questions of their own.
  [[nodiscard]] std::string Column(const std::string& ending, std::string_view table,
                                   std::string_view column) const;
  [[nodiscard]] std::string From(const std::string& ending, std::string_view table) const;
  [[nodiscard]] Result<Statement> Ask(const std::string& sql) { return database_.Prepare(sql); }
  [[nodiscard]] bool HasColumn(const std::string& ending, std::string_view table,
                               std::string_view column) const;
  // In quotes of SQL.
  [[nodiscard]] std::string Name(const std::string& ending, std::string_view table) const;

  // The text with this number in rocpd_string; empty: there is none. Holds until another ending is
  // asked for.
  [[nodiscard]] Result<std::string_view> Text(const std::string& ending, std::int64_t id);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  RocpdTables(Database database, std::string path)
      : database_(std::move(database)), path_(std::move(path)) {}
  Status List();
  struct Table {
    std::set<std::string, std::less<>> columns;
    bool keyed = false;  // "id" is the row's number: a join finds at most one row, at once
  };
  [[nodiscard]] const Table* Find(const std::string& ending, std::string_view table) const;
  // Whether a row of `table` leads to one of `to` by its column `by`.
  [[nodiscard]] bool Leads(const std::string& ending, std::string_view table, std::string_view by,
                           std::string_view to) const;

  Database database_;
  std::string path_;
  std::map<std::string, Table, std::less<>> tables_;  // by whole name
  std::vector<std::string> endings_;
  std::string texts_of_;
  bool has_texts_ = false;
  std::unordered_map<std::int64_t, std::string> texts_;
};

}  // namespace reprise::pytorch
