// Rows that come again and have moved alike: <table>_parts of rank<N>.sqlite names them
// (docs/run_format.md, "Repeated rows"). How far a row has moved follows from two stored copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/run/table_rows.h"

namespace reprise {

// One row of <table>_parts: rows `first` to `last` of <table>_rows, counted from 1, moved
// `repetition` times as far as from the row `back` rows before. `back` is 0 without repetition.
struct RowPart {
  std::int64_t first = 0, last = 0, back = 0, repetition = 0;
};

// The columns that rows do not share: integers, as SQLite has them.
template <typename Row>
using OwnValues = std::array<std::int64_t, kOwnColumns<Row>>;

template <typename Row>
[[nodiscard]] OwnValues<Row> OwnValuesOf(const Row& row) {
  OwnValues<Row> values{};
  std::size_t i = 0;
  VisitColumns(row, [&](const RunColumn& column, const auto& member) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(member)>>) {
      if (!column.shared) {
        values[i++] = static_cast<std::int64_t>(member);
      }
    }
  });
  return values;
}

template <typename Row>
void SetOwnValues(const OwnValues<Row>& values, Row& row) {
  std::size_t i = 0;
  VisitColumns(row, [&](const RunColumn& column, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_integral_v<Member>) {
      if (!column.shared) {
        member = static_cast<Member>(values[i++]);
      }
    }
  });
}

// `last`, moved `repetition` times as far as from `before`. Nothing: beyond 64 bits, where SQLite
// would go on with reals.
template <std::size_t N>
[[nodiscard]] std::optional<std::array<std::int64_t, N>> Moved(
    const std::array<std::int64_t, N>& before, const std::array<std::int64_t, N>& last,
    std::int64_t repetition) {
  std::array<std::int64_t, N> moved{};
  for (std::size_t i = 0; i < N; ++i) {
    std::int64_t way = 0;
    if (__builtin_sub_overflow(last[i], before[i], &way) ||
        __builtin_mul_overflow(way, repetition, &way) ||
        __builtin_add_overflow(last[i], way, &moved[i])) {
      return std::nullopt;
    }
  }
  return moved;
}

// Finds batches of rows that continue the two before them. For one table of one file.
template <typename Row>
class RepeatedRows {
 public:
  // The part that stands for `rows`, if they continue; nothing: they are to be stored.
  [[nodiscard]] std::optional<RowPart> Continue(const std::vector<Row>& rows) {
    if (before_.empty() || !Continues(rows, part_.repetition + 1)) {
      return std::nullopt;
    }
    ++part_.repetition;
    return part_;
  }
  // They were stored, from row `first` on.
  void Stored(std::vector<Row>&& rows, std::int64_t first) {
    const bool alike = SameShared(last_, rows);
    before_ = alike ? std::move(last_) : std::vector<Row>();
    last_ = rows.size() <= kMostRows ? std::move(rows) : std::vector<Row>();
    part_ = {.first = first,
             .last = first + static_cast<std::int64_t>(last_.size()) - 1,
             .back = first - part_.first};
  }

 private:
  // Larger batches are not kept for comparison: they would double what a long recording holds.
  static constexpr std::size_t kMostRows = std::size_t{1} << 17;

  [[nodiscard]] static bool SameShared(const std::vector<Row>& a, const std::vector<Row>& b) {
    bool same = a.size() == b.size() && !a.empty();
    for (std::size_t i = 0; same && i < a.size(); ++i) {
      same = HasSameShared(a[i], b[i]);
    }
    return same;
  }
  [[nodiscard]] bool Continues(const std::vector<Row>& rows, std::int64_t repetition) const {
    bool same = rows.size() == last_.size();
    for (std::size_t i = 0; same && i < rows.size(); ++i) {
      same =
          HasSameShared(last_[i], rows[i]) &&
          Moved(OwnValuesOf(before_[i]), OwnValuesOf(last_[i]), repetition) == OwnValuesOf(rows[i]);
    }
    return same;
  }

  std::vector<Row> before_, last_;  // stored one after the other, alike; `before_` may be empty
  RowPart part_;                    // of `last_`
};

}  // namespace reprise
