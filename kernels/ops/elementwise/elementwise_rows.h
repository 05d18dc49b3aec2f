// The element-wise operators of core/operators.def, and which of their arguments are the operands.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string_view>

namespace reprise {

struct ElementwiseRow {
  // An argument of the operator, by position in its schema.
  struct Argument {
    int index = -1;  // -1: the operand is not used
    bool optional = false;
    double fallback =
        0;  // where optional and absent or None; ±kLargest: that of the result's dtype
  };
  static constexpr double kLargest = std::numeric_limits<double>::max();
  std::string_view aten;             // "aten::add"
  std::string_view op;               // line of elementwise.def
  std::array<Argument, 4> operands;  // a, b, c, d
  int must_lack = -1;                // argument that must be absent or None
};

// Those that are not in place, in the table's order.
[[nodiscard]] std::span<const ElementwiseRow> ElementwiseRows();
// Of aten::add, or of aten::add_; nullptr if there is none.
[[nodiscard]] const ElementwiseRow* FindElementwiseRow(std::string_view aten);

}  // namespace reprise
