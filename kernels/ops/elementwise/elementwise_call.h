// One element-wise computation, for any operator: result = op(a, b, c, d).
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/ops/common/row_lowering.h"
#include "kernels/ops/elementwise/elementwise_ops.h"

namespace reprise {

struct ElementwiseCall {
  // A tensor, or else a number (as both kinds; the compute type picks).
  struct Operand {
    const TensorDesc* tensor = nullptr;
    double real = 0;
    std::int64_t integer = 0;
    bool is_real = false;  // recorded as floating and not a whole number
    // The number of that compute type.
    template <typename C>
    [[nodiscard]] C As() const {
      return std::is_integral_v<C> ? static_cast<C>(integer) : static_cast<C>(real);
    }
  };
  const ElementwiseOp* op = nullptr;
  const TensorDesc* result = nullptr;
  std::array<Operand, 4> operands;  // a, b, c, d; unused ones are the number 0

  static Operand Number(const Value& value, double fallback);
  static Operand Tensor(const TensorDesc& tensor) { return {.tensor = &tensor}; }
};

// The operands' keys in `arguments` of an operator's row.
inline constexpr std::array<std::string_view, 4> kOperandKeys = {"a", "b", "c", "d"};

// result = from, converted.
[[nodiscard]] ElementwiseCall CopyTo(const TensorDesc& result,
                                     const ElementwiseCall::Operand& from);

enum class ComputeType { kFloat, kDouble, kInteger };
// By the result's dtype; by the operands' where the result is integral or bool.
[[nodiscard]] ComputeType ComputeTypeOf(const ElementwiseCall& call);

// Operand 0 the result, 1 to 3 a to c; numbers and one-element tensors do not move. Nothing if the
// shapes do not broadcast, too many dimensions remain, or d is a tensor.
[[nodiscard]] std::optional<IndexSpace> SpaceOf(const ElementwiseCall& call);

// Dtypes, shapes, and that the operator exists for the compute type.
[[nodiscard]] bool CanRun(const ElementwiseCall& call);

// One launch.
void LowerElementwise(const ElementwiseCall& call, RowLowering& rows);
// In the compute type.
[[nodiscard]] Status RunElementwise(const ElementwiseCall& call, const HostBindings& memory);
// In double precision, or in integers.
[[nodiscard]] Status ReferenceElementwise(const ElementwiseCall& call, const HostBindings& memory);

// Every element-wise operator of the operator table, as PyTorch records it.
[[nodiscard]] std::vector<OpCall> ElementwiseSamples();

}  // namespace reprise
