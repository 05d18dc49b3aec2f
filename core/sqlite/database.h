// SQLite as values: RAII, Result instead of return codes. The only header that includes sqlite3.h.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/shown_text.h"

namespace reprise {

enum class StoredAs : std::uint8_t { kNothing, kInteger, kReal, kText, kBytes };

// A prepared statement. Bind, then Finish (no rows wanted) or Next until it returns false.
class Statement {
 public:
  Statement(sqlite3_stmt* statement, std::string file)
      : statement_(statement), file_(std::move(file)) {}

  // One INSERT: binds all parameters, counted from 1, then runs to the end and resets.
  void Bind(int index, std::string_view text);
  void Bind(int index, double value);  // NaN is stored as NULL
  template <std::integral Int>
  void Bind(int index, Int value) {
    sqlite3_bind_int64(statement_.get(), index, static_cast<std::int64_t>(value));
  }
  [[nodiscard]] Status Finish();
  // True: a row is there. False: no more.
  [[nodiscard]] Result<bool> Next();

  [[nodiscard]] std::int64_t Int(int column) const;
  [[nodiscard]] double Real(int column) const;
  // As what the current row's value is stored.
  [[nodiscard]] StoredAs StoredType(int column) const;  // NULL reads as NaN
  // Others may have written the file: as it may be shown (core/shown_text.h).
  [[nodiscard]] std::string Text(int column) const { return ShownText(View(column)); }
  [[nodiscard]] std::string_view View(int column) const;   // until the next row
  [[nodiscard]] std::string_view Bytes(int column) const;  // likewise, as they are stored

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string file_;
};

// Whether a file begins as SQLite's do.
[[nodiscard]] bool BeginsAsDatabase(const std::string& path);
// As an identifier of SQL, in double quotes.
[[nodiscard]] std::string QuotedIdentifier(std::string_view name);

struct PlainTable {
  std::string name;
  std::vector<std::string> columns;  // without those that are computed
  std::string key;  // the column that is the row's number (INTEGER PRIMARY KEY); empty: none
};

class Database {
 public:
  enum class Access { kRead, kCreate };

  // kCreate replaces nothing: an existing database is opened. kRead recovers what a killed writer
  // left in its write-ahead log; where the directory is read-only and the log cannot be read,
  // `log_ignored` is set and the file is read without it.
  static Result<Database> Open(const std::string& path, Access access);

  [[nodiscard]] Status Execute(const std::string& sql);
  [[nodiscard]] Result<Statement> Prepare(const std::string& sql);
  // The tables that others' files may be read from: what a view or a module's table takes is
  // without bound.
  [[nodiscard]] Result<std::vector<PlainTable>> PlainTables();
  [[nodiscard]] Status Close();
  [[nodiscard]] bool log_ignored() const { return log_ignored_; }

 private:
  struct CloseHandle {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  std::unique_ptr<sqlite3, CloseHandle> handle_;
  std::string path_;
  bool log_ignored_ = false;
};

}  // namespace reprise
