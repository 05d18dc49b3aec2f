// The arithmetic of elementwise.def, by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

struct ElementwiseOp {
  std::string_view name;
  double flops = 0;  // per element: core/costs/formulas.def
  // Group, and position within the group's program (elementwise.cl); -1: not for this kind.
  int float_group = -1;
  int float_position = -1;
  int integer_group = -1;
  int integer_position = -1;
  // out[k] = f(a[k], b[k], c[k], d) on the host; nullptr where there is no position.
  template <typename T>
  using Block = void (*)(const T* a, const T* b, const T* c, T d, T* out, int n);
  Block<float> run_float = nullptr;
  Block<double> run_double = nullptr;
  Block<std::int64_t> run_integer = nullptr;
};

// nullptr if there is no such line.
[[nodiscard]] const ElementwiseOp* FindElementwiseOp(std::string_view name);

}  // namespace reprise
