// How each struct becomes a row of its table and back, after report/run/schema.def: a type's
// conversion is here once, for writer and reader.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/records.h"
#include "core/sqlite/database.h"
#include "report/run/run.h"
#include "report/run/schema.h"

namespace reprise {

// Who wrote a rank's file.
struct RankFileRow {
  std::string host, device;  // `device`: empty before the merge
  std::int64_t pid = 0;
  bool closed = false;  // the rank came to its end
};

// The table of a row type. The argument only selects the overload.
#define REPRISE_TABLE(table, Struct, where) \
  [[nodiscard]] constexpr std::string_view TableName(const Struct* /*row*/) { return #table; }
#include "report/run/schema.def"

// visit(RunColumn, member) for each column of the row's table, in the order of the table.
#define REPRISE_TABLE(table, Struct, where)               \
  template <typename Row, typename Visit>                 \
  requires std::same_as<std::remove_const_t<Row>, Struct> \
  void VisitColumns(Row& row, Visit&& visit) {
#define REPRISE_COLUMN(column, type, member) \
  visit(RunColumn{#column, ColumnType::k##type}, row.member);
#define REPRISE_SHARED(column, type, member) \
  visit(RunColumn{#column, ColumnType::k##type, true}, row.member);
#define REPRISE_TABLE_END }
#include "report/run/schema.def"

// Whether two rows have the same in all shared columns.
#define REPRISE_TABLE(table, Struct, where)                                   \
  [[nodiscard]] inline bool HasSameShared([[maybe_unused]] const Struct& a,   \
                                          [[maybe_unused]] const Struct& b) { \
    bool same = true;
#define REPRISE_COLUMN(column, type, member)
#define REPRISE_SHARED(column, type, member) same = same && a.member == b.member;
#define REPRISE_TABLE_END \
  return same;            \
  }
#include "report/run/schema.def"

// What is stored of a member: numbers and texts as they are, an enum by name, splits as "[1,2]"
// ("[]" where even).
template <typename T>
requires std::is_arithmetic_v<T>
[[nodiscard]] T Stored(T value) { return value; }
[[nodiscard]] inline std::string_view Stored(const std::string& text) { return text; }
[[nodiscard]] inline std::string_view Stored(const SharedText& text) { return text.str(); }
template <typename Enum>
requires std::is_enum_v<Enum>
[[nodiscard]] std::string_view Stored(Enum value) { return Name(value); }
[[nodiscard]] std::string Stored(const std::vector<std::int64_t>& splits);

// The other way round, from a column of the current row. Foreign text is made fit to be shown; a
// name that is not known is the type's most harmless value.
template <std::integral Int>
void Restore(const Statement& row, int column, ColumnType /*type*/, Int& value) {
  value = static_cast<Int>(row.Int(column));
}
inline void Restore(const Statement& row, int column, ColumnType /*type*/, bool& value) {
  value = row.Int(column) != 0;
}
inline void Restore(const Statement& row, int column, ColumnType /*type*/, double& value) {
  value = row.Real(column);
}
inline void Restore(const Statement& row, int column, ColumnType type, std::string& value) {
  value = type == ColumnType::kLines ? ShownLines(row.View(column)) : row.Text(column);
}
inline void Restore(const Statement& row, int column, ColumnType /*type*/, SharedText& value) {
  value = row.Text(column);
}
#define REPRISE_PARSE(Enum, otherwise)                       \
  inline void Parse(std::string_view text, Enum& value) {    \
    value = ParseName<Enum>(text).value_or(Enum::otherwise); \
  }
REPRISE_PARSE(OpClass, kOther)
REPRISE_PARSE(OpKind, kWork)
REPRISE_PARSE(Phase, kOther)
REPRISE_PARSE(ReplayMode, kSkip)
REPRISE_PARSE(WorkSource, kNone)
REPRISE_PARSE(TimeSource, kNone)
REPRISE_PARSE(CommKind, kBarrier)
REPRISE_PARSE(GroupCertainty, kUnknown)
REPRISE_PARSE(ReduceOp, kSum)
REPRISE_PARSE(SendEnd, kReceived)
REPRISE_PARSE(MetricKind, kGauge)
#undef REPRISE_PARSE
inline void Parse(std::string_view text, DType& value) { value = ParseDType(text); }
void Parse(std::string_view text, std::vector<std::int64_t>& splits);
template <typename T>
void Restore(const Statement& row, int column, ColumnType /*type*/, T& value) {
  Parse(row.View(column), value);
}

// The table's type and the member's type must agree: a column of the wrong type does not compile.
template <typename Member>
constexpr bool MayHold(ColumnType type) {
  switch (type) {
    case ColumnType::kBoolean:
      return std::is_same_v<Member, bool>;
    case ColumnType::kId:
      return std::is_same_v<Member, std::uint64_t>;
    case ColumnType::kReal:
      return std::is_floating_point_v<Member>;
    case ColumnType::kInteger:
      return std::is_integral_v<Member> && std::is_signed_v<Member>;
    case ColumnType::kLines:
      return std::is_same_v<Member, std::string>;
    default:
      return !std::is_arithmetic_v<Member>;
  }
}

// Which columns of a row type a statement is about.
enum class ColumnPart : std::uint8_t {
  kAll,     // of the table, or the view
  kShared,  // of <table>_shared
  kOwn,     // of <table>_rows
};
[[nodiscard]] constexpr bool IsIn(ColumnPart part, const RunColumn& column) {
  return part == ColumnPart::kAll || (part == ColumnPart::kShared) == column.shared;
}

// The values of a row's shared columns as bytes: equal for rows whose values are equal.
template <typename Row>
void SharedBytes(const Row& row, std::string& bytes) {
  bytes.clear();
  const auto add = [&bytes](const auto* data, std::size_t size) {
    bytes.append(reinterpret_cast<const char*>(data), size);
  };
  VisitColumns(row, [&](const RunColumn& column, const auto& member) {
    if (!column.shared) {
      return;
    }
    const auto& stored = Stored(member);
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(stored)>>) {
      add(&stored, sizeof(stored));
    } else {
      const std::string_view text = stored;
      const std::size_t size = text.size();
      add(&size, sizeof(size));
      add(text.data(), size);
    }
  });
}

// "name, name, …": columns of a row type, without `rank`.
template <typename Row>
[[nodiscard]] std::string SelectedColumns(ColumnPart part = ColumnPart::kAll) {
  std::string columns;
  const Row row{};
  VisitColumns(row, [&](const RunColumn& column, const auto& /*member*/) {
    if (IsIn(part, column)) {
      columns.append(columns.empty() ? "" : ", ").append(column.name);
    }
  });
  return columns;
}

// All columns of <table>_rows, which are numbers.
template <typename Row>
[[nodiscard]] std::string NumberColumns() {
  return SelectedColumns<Row>(ColumnPart::kOwn) + ", shared";
}

// How many columns: of the table, and of those that rows do not share.
template <typename Row>
inline constexpr std::size_t kColumns = 0;
template <typename Row>
inline constexpr std::size_t kOwnColumns = 0;
#define REPRISE_TABLE(table, Struct, where) \
  template <>                               \
  inline constexpr std::size_t kColumns<Struct> = 0
#define REPRISE_COLUMN(column, type, member) +1
#define REPRISE_TABLE_END ;
#include "report/run/schema.def"
#define REPRISE_TABLE(table, Struct, where) \
  template <>                               \
  inline constexpr std::size_t kOwnColumns<Struct> = 0
#define REPRISE_COLUMN(column, type, member) +1
#define REPRISE_SHARED(column, type, member)
#define REPRISE_TABLE_END ;
#include "report/run/schema.def"

template <typename Row>
inline constexpr bool kHasShared = kOwnColumns<Row> < kColumns<Row>;

// "INSERT … VALUES(?,…)" of rows of a type: first the parameters that `first` names, then the
// columns of BindColumns.
template <typename Row>
[[nodiscard]] std::string InsertSql(ColumnPart part, const std::string& first) {
  const std::string_view table = TableName(static_cast<const Row*>(nullptr));
  const std::string columns = first + ", " + SelectedColumns<Row>(part);
  std::string values = "?";
  for (const char c : columns) {
    values += c == ',' ? ",?" : "";
  }
  const std::string into = part == ColumnPart::kShared ? SharedOf(table)
                           : part == ColumnPart::kOwn  ? RowsOf(table)
                                                       : std::string(table);
  return "INSERT OR REPLACE INTO " + into + "(" + columns + ") VALUES(" + values + ")";
}

template <typename Row>
void BindColumns(Statement& insert, const Row& row, ColumnPart part, int parameter) {
  VisitColumns(row, [&](const RunColumn& column, const auto& member) {
    if (IsIn(part, column)) {
      insert.Bind(parameter++, Stored(member));
    }
  });
}

// Whether a value of the current row is one that the column and its member can have.
template <typename Member>
[[nodiscard]] bool IsOfColumn(const Statement& row, int index, ColumnType type,
                              const Member& /*member*/) {
  const StoredAs stored = row.StoredType(index);
  switch (type) {
    case ColumnType::kInteger:
      if constexpr (std::is_integral_v<Member> && !std::is_same_v<Member, bool>) {
        return stored == StoredAs::kInteger && std::in_range<Member>(row.Int(index));
      }
      return stored == StoredAs::kInteger;
    case ColumnType::kBoolean:
    case ColumnType::kId:
      return stored == StoredAs::kInteger;
    case ColumnType::kReal:
      return stored == StoredAs::kReal || stored == StoredAs::kInteger ||
             stored == StoredAs::kNothing;
    case ColumnType::kText:
    case ColumnType::kLines:
      return stored == StoredAs::kText || stored == StoredAs::kNothing;
  }
  return false;
}

// The current row of a SELECT of SelectedColumns(part), into these members. Bad input names the
// column whose value is none that it can have.
template <typename Row>
[[nodiscard]] Status ReadColumns(const Statement& select, ColumnPart part, Row& row) {
  int index = 0;
  std::string_view wrong;
  VisitColumns(row, [&](const RunColumn& column, auto& member) {
    if (!IsIn(part, column)) {
      return;
    }
    if (!IsOfColumn(select, index, column.type, member)) {
      wrong = column.name;
    }
    Restore(select, index++, column.type, member);
  });
  if (!wrong.empty()) {
    return BadInput(
        std::string("table ").append(TableName(&row)).append(", column ").append(wrong));
  }
  return {};
}

}  // namespace reprise
