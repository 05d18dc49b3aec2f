// One column of a ColumnTable while it is filled. Only node_columns.cc sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "et_schema/node_columns.h"
#include "et_schema/raw_node.h"

namespace reprise {

// nullopt: columns do not hold such values.
[[nodiscard]] std::optional<ColumnKind> KindOf(const RawAttribute& attribute);

// Why a value does not fit its column; empty: it does.
using Misfit = std::string_view;

// Rows are added in ascending order.
class ColumnBuilder {
 public:
  ColumnBuilder(std::string_view name, ColumnKind kind);
  [[nodiscard]] const std::string& name() const { return column_.name; }

  void AddBits(std::uint32_t row, std::uint64_t bits);
  // A number of any sign, or one of std::uint64_t.
  void AddNumber(std::uint32_t row, std::uint64_t bits, bool is_unsigned);
  [[nodiscard]] Misfit AddText(std::uint32_t row, std::string_view text);
  [[nodiscard]] Misfit Add(std::uint32_t row, const RawAttribute& attribute);
  // Bad input, with `path`: values below 0 and values of 2^63 or more. Ends the builder's use.
  [[nodiscard]] Result<NodeColumn> Finish(std::uint64_t rows, const std::string& path);

 private:
  // nullopt: a text that is none.
  [[nodiscard]] std::optional<std::uint64_t> Intern(std::string_view text);
  [[nodiscard]] Misfit AddInteger(std::uint32_t row, const RawAttribute& attribute);
  [[nodiscard]] Misfit AddIntegers(std::uint32_t row, const RawAttribute& attribute);
  [[nodiscard]] Misfit AddTexts(std::uint32_t row, const RawAttribute& attribute);

  NodeColumn column_;
  bool beyond_ = false, negative_ = false;
  std::vector<std::int64_t> numbers_;
  std::vector<std::string_view> views_;
};

}  // namespace reprise
