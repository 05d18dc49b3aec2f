// The table of element-wise ATen operators: one line each, in elementwise_rows.cc.
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
  std::string_view aten;             // "aten::add"; aten::add_ is found by itself
  std::string_view op;               // line of elementwise.def
  std::array<Argument, 4> operands;  // a, b, c, d
  // What the samples draw from: dtypes beside float32 that the operator is recorded with.
  enum Types { kFloats, kFloatsAndIntegers, kIntegers, kMask } types = kFloatsAndIntegers;
  int text_at = -1;    // argument whose string selects a variant: op + "_" + string
  int must_lack = -1;  // argument that must be absent or None
};

[[nodiscard]] std::span<const ElementwiseRow> ElementwiseRows();

}  // namespace reprise
