// The tables of an export of Nsight Systems (`nsys export --type sqlite`). Their names and columns
// differ between its versions
// (https://docs.nvidia.com/nsight-systems/UserGuide/index.html, "SQLite Schema Reference").
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/result.h"
#include "core/sqlite/database.h"

namespace reprise::pytorch {

// Whether the file is SQLite's and has tables of such an export.
[[nodiscard]] bool IsNsightExport(const std::string& path);

// Threads are numbered in all: host, process and thread ("globalTid"). Of a thread, its process's
// number ("globalPid"), its number on the host, and its process's.
[[nodiscard]] inline std::int64_t ProcessOfThread(std::int64_t thread) {
  return thread & ~std::int64_t{0xffffff};
}
[[nodiscard]] inline std::int64_t LocalThread(std::int64_t thread) { return thread & 0xffffff; }
[[nodiscard]] inline std::int64_t LocalProcess(std::int64_t process) {
  return process >> 24 & 0xffffff;
}

// Not thread-safe: each thread opens the file for itself.
class NsightTables {
 public:
  // Bad input: no such file.
  static Result<NsightTables> Open(const std::string& path);

  [[nodiscard]] bool Has(std::string_view table) const { return tables_.contains(table); }
  // These columns of the rows that meet the condition (SQL; empty: of all), in the file's order;
  // NULL stands for a column that the table lacks. No row where there is no such table.
  [[nodiscard]] Result<Statement> Select(std::string_view table,
                                         std::initializer_list<std::string_view> columns,
                                         const std::string& condition = {});
  [[nodiscard]] bool HasColumn(std::string_view table, std::string_view column) const;
  // The text with this number in StringIds; empty: there is none. Holds until the tables are gone.
  [[nodiscard]] Result<std::string_view> Text(std::int64_t id);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  NsightTables(Database database, std::string path)
      : database_(std::move(database)), path_(std::move(path)) {}
  Status List();

  struct Table {
    std::string name;  // in the file: "NVTX_EVENTS", or with a version behind it, "NVTX_EVENTS_V2"
    std::set<std::string, std::less<>> columns;
  };

  Database database_;
  std::string path_;
  std::map<std::string, Table, std::less<>> tables_;                    // by name without version
  std::optional<std::unordered_map<std::int64_t, std::string>> texts_;  // once one was asked for
};

}  // namespace reprise::pytorch
