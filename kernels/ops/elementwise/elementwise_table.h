// Which ATen operators are element-wise, and which of their arguments are the operands.
#pragma once

#include <optional>

#include "kernels/ops/elementwise/elementwise_call.h"

namespace reprise {

// The call in terms of elementwise.def; nothing if the operator is not in the table or its
// arguments are none that it describes (e.g. round to decimals).
[[nodiscard]] std::optional<ElementwiseCall> ParseElementwise(const OpCall& call);

// Every operator of the table, as PyTorch records it.
[[nodiscard]] std::vector<OpCall> ElementwiseSamples();

}  // namespace reprise
