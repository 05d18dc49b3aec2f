// The arithmetic of elementwise.def, by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise {

struct ElementwiseOp {
  std::string_view name;
  double flops = 0;  // per element
  // Position within the program compiled with -DLIGHT_OPS, … (elementwise.cl); -1: not in it.
  int light = -1;
  int heavy = -1;
  int integer = -1;
  // out[k] = f(a[k], b[k], c[k], d) on the host; nullptr where the position is -1.
  template <typename T>
  using Block = void (*)(const T* a, const T* b, const T* c, T d, T* out, int n);
  Block<float> run_float = nullptr;
  Block<double> run_double = nullptr;
  Block<std::int64_t> run_integer = nullptr;
};

// nullptr if there is no such line.
[[nodiscard]] const ElementwiseOp* FindElementwiseOp(std::string_view name);

}  // namespace reprise
