#include "core/sqlite/database.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <system_error>

#include "core/input_file.h"

namespace reprise {
namespace {

// A damaged file is bad input; a full disk, a lock or a missing permission is the machine's.
Error MakeError(sqlite3* handle, int code, const std::string& file) {
  const int extended = handle == nullptr ? code : sqlite3_extended_errcode(handle);
  std::string text = handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle);
  if ((code & 0xff) == SQLITE_IOERR && handle != nullptr && sqlite3_system_errno(handle) != 0) {
    text += fmt::format(" ({})", std::generic_category().message(sqlite3_system_errno(handle)));
  }
  const bool damaged = (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ||
                       extended == SQLITE_IOERR_SHORT_READ || (code & 0xff) == SQLITE_ERROR;
  if (damaged) {
    return {ErrorKind::kBadInput,
            fmt::format("{}: damaged, or no SQLite file of this form ({})", file, text)};
  }
  return {ErrorKind::kEnvironment, fmt::format("{}: {}", file, text)};
}

}  // namespace

void Statement::Bind(int index, std::string_view text) {
  // A null data pointer would bind NULL, not the empty string.
  sqlite3_bind_text(statement_.get(), index, text.data() == nullptr ? "" : text.data(),
                    static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

void Statement::Bind(int index, double value) {
  sqlite3_bind_double(statement_.get(), index, value);
}

Result<bool> Statement::Next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());  // parameters may be bound anew
    return false;
  }
  return tl::unexpected(MakeError(sqlite3_db_handle(statement_.get()), code, file_));
}

Status Statement::Finish() {
  const Result<bool> row = Next();
  sqlite3_reset(statement_.get());
  if (!row) {
    return tl::unexpected(row.error());
  }
  return {};
}

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

StoredAs Statement::StoredType(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return StoredAs::kInteger;
    case SQLITE_FLOAT:
      return StoredAs::kReal;
    case SQLITE_TEXT:
      return StoredAs::kText;
    case SQLITE_BLOB:
      return StoredAs::kBytes;
    default:
      return StoredAs::kNothing;
  }
}

double Statement::Real(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL
             ? std::numeric_limits<double>::quiet_NaN()
             : sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::View(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text), bytes);
}

std::string_view Statement::Bytes(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  const int count = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(static_cast<const char*>(bytes), count);
}

Result<Database> Database::Open(const std::string& path, Access access) {
  if (access == Access::kRead && !std::filesystem::exists(path)) {
    return BadInput(path + ": missing");
  }
  if (std::error_code error;
      access == Access::kRead && !std::filesystem::is_regular_file(path, error)) {
    return BadInput(path + ": expected a regular file");
  }
  const int flags =
      access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const auto open = [&path](Database& database, const std::string& name, int open_flags) {
    sqlite3* handle = nullptr;
    int code = sqlite3_open_v2(name.c_str(), &handle, open_flags | SQLITE_OPEN_NOMUTEX, nullptr);
    database.handle_.reset(handle);
    database.path_ = path;
    if (code == SQLITE_OK) {
      sqlite3_extended_result_codes(handle, 0);
      sqlite3_busy_timeout(handle, 5'000);
      // Opening is lazy: the first read says whether this is a database at all.
      code = sqlite3_exec(handle, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
    }
    return code;
  };
  Database database;
  int code = open(database, path, flags);
  if (code == SQLITE_READONLY && access == Access::kRead) {
    // Its writer was killed within a commit: the log's index must be made anew before it is read.
    code = open(database, path, SQLITE_OPEN_READWRITE);
    sqlite3_db_config(database.handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  if ((code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && access == Access::kRead) {
    // A log that cannot be recovered because nothing may be written beside it.
    database.log_ignored_ = true;
    code = open(database, "file:" + path + "?immutable=1", flags | SQLITE_OPEN_URI);
  }
  if (code != SQLITE_OK) {
    return tl::unexpected(MakeError(database.handle_.get(), code, path));
  }
  return database;
}

Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    return tl::unexpected(MakeError(handle_.get(), code, path_));
  }
  return {};
}

Result<Statement> Database::Prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &statement, nullptr);
  if (code != SQLITE_OK) {
    return tl::unexpected(MakeError(handle_.get(), code, path_));
  }
  return Statement(statement, path_);
}

bool BeginsAsDatabase(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  return FirstBytes(path, kMagic.size()) == kMagic;
}

std::string QuotedIdentifier(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    out += c;
    if (c == '"') {
      out += c;
    }
  }
  return out + '"';
}

Result<std::vector<PlainTable>> Database::PlainTables() {
  std::vector<PlainTable> out;
  REPRISE_ASSIGN(
      Statement list,
      Prepare("SELECT name FROM sqlite_master WHERE type='table' AND sql LIKE 'CREATE TABLE%'"));
  for (;;) {
    REPRISE_ASSIGN(const bool more, list.Next());
    if (!more) {
      break;
    }
    out.push_back({.name = std::string(list.View(0)), .columns = {}, .key = {}});
  }
  for (PlainTable& table : out) {
    // table_info leaves out columns that are computed.
    REPRISE_ASSIGN(Statement columns,
                   Prepare("PRAGMA table_info(" + QuotedIdentifier(table.name) + ")"));
    int keys = 0;
    for (;;) {
      REPRISE_ASSIGN(const bool more, columns.Next());
      if (!more) {
        break;
      }
      table.columns.emplace_back(columns.View(1));
      constexpr int kType = 2;
      constexpr int kKey = 5;
      if (columns.Int(kKey) > 0) {
        ++keys;
        table.key = columns.View(kType) == "INTEGER" ? table.columns.back() : std::string();
      }
    }
    table.key = keys == 1 ? table.key : std::string();
  }
  return out;
}

Status Database::Close() {
  const int code = sqlite3_close(handle_.get());
  if (code != SQLITE_OK) {
    return tl::unexpected(MakeError(handle_.get(), code, path_));
  }
  (void)handle_.release();
  return {};
}

}  // namespace reprise
