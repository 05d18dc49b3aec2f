#include "kernels/ops/elementwise/elementwise_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "core/costs/cost.h"
#include "kernels/ops/common/float_math.h"
#include "kernels/ops/common/host_clones.h"

// glibc has vector forms of these (libmvec, at most 4 units in the last place off), but says so
// only under -ffast-math, which would take NaN and infinities away too.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
extern "C" {
__attribute__((simd("notinbranch"))) float expf(float) noexcept;
__attribute__((simd("notinbranch"))) float logf(float) noexcept;
__attribute__((simd("notinbranch"))) float tanhf(float) noexcept;
}
#endif

namespace reprise {
namespace {

using loops::Erf, loops::Gelu, loops::GeluSlope, loops::Pow;

// ---- What elementwise.def's C++ expressions call.
template <typename T>
T SiluSlope(T x) {
  const T s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

template <typename T>
T GeluInner(T x) {
  return T(M_2_SQRTPI * M_SQRT1_2) * (x + T(0.044715) * x * x * x);
}

template <typename T>
T GeluTanhSlope(T x) {
  const T t = std::tanh(GeluInner(x));
  const T inner = T(M_2_SQRTPI * M_SQRT1_2) * (1 + T(3 * 0.044715) * x * x);
  return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * inner;
}

template <typename T>
T MishSlope(T x) {
  const T t = std::tanh(x > 20 ? x : std::log1p(std::exp(x)));
  return t + x * (1 - t * t) / (1 + std::exp(-x));
}

std::int64_t FloorDiv(std::int64_t x, std::int64_t y) {
  if (y == 0) {
    return 0;  // PyTorch raises; a replay must not
  }
  const std::int64_t q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}

std::int64_t IntPow(std::int64_t x, std::int64_t y) {
  if (y < 0) {
    return x == 1 ? 1 : (x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0);
  }
  auto base = static_cast<std::uint64_t>(x);  // wraps where the device's does
  std::uint64_t result = 1;
  for (; y > 0; y >>= 1, base *= base) {
    result *= (y & 1) != 0 ? base : 1;
  }
  return static_cast<std::int64_t>(result);
}

// The loop of each operator: in float32, which is nearly all that training has, one for each kind
// of processor. The result may be an operand: an element is read before it is written, and no other
// iteration's.
#define LOOP(type, host)                                      \
  using T [[maybe_unused]] = type;                            \
  _Pragma("GCC ivdep") for (int k = 0; k < n; ++k) {          \
    [[maybe_unused]] const T a = pa[k], b = pb[k], c = pc[k]; \
    out[k] = static_cast<T>(host);                            \
  }                                                           \
  (void)d;
#define FLOAT(group, name, device, host)                                                      \
  REPRISE_CLONES void Float##name(const float* pa, const float* pb, const float* pc, float d, \
                                  float* out, int n) {                                        \
    LOOP(float, host)                                                                         \
  }
#define INTEGER(group, name, device, host)
#include "kernels/ops/elementwise/elementwise.def"
#undef FLOAT
#undef INTEGER

class Table {
 public:
  Table() {
#define BLOCK(type, host) \
  [](const type* pa, const type* pb, const type* pc, type d, type* out, int n) { LOOP(type, host) }
#define FLOAT(group, name, device, host) Float(#name, group, Float##name, BLOCK(double, host));
#define INTEGER(group, name, device, host) Integer(#name, group, BLOCK(std::int64_t, host));
#include "kernels/ops/elementwise/elementwise.def"
#undef FLOAT
#undef INTEGER
#undef BLOCK
#undef LOOP
  }
  [[nodiscard]] const ElementwiseOp* Find(std::string_view name) const {
    const auto it = ops_.find(name);
    return it == ops_.end() ? nullptr : &it->second;
  }

 private:
  ElementwiseOp& Named(std::string_view name) {
    ElementwiseOp& op = ops_[name];
    op.name = name;
    op.flops = FormulaFlops(name);
    return op;
  }
  void Float(std::string_view name, int group, ElementwiseOp::Block<float> run_float,
             ElementwiseOp::Block<double> run_double) {
    ElementwiseOp& op = Named(name);
    op.float_group = group;
    op.float_position = float_counts_.at(static_cast<std::size_t>(group))++;
    op.run_float = run_float;
    op.run_double = run_double;
  }
  void Integer(std::string_view name, int group, ElementwiseOp::Block<std::int64_t> run) {
    ElementwiseOp& op = Named(name);
    op.integer_group = group;
    op.integer_position = integer_counts_.at(static_cast<std::size_t>(group))++;
    op.run_integer = run;
  }

  std::array<int, 4> float_counts_ = {};
  std::array<int, 2> integer_counts_ = {};
  std::unordered_map<std::string_view, ElementwiseOp> ops_;
};

}  // namespace

const ElementwiseOp* FindElementwiseOp(std::string_view name) {
  static const Table table;
  return table.Find(name);
}

}  // namespace reprise
