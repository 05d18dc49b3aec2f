// What arguments of calls mean, where costs and the kernels have to agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"

namespace reprise {

// The name that core/costs/formulas.def has: `op=` of the operator's row, and what arguments add to
// it
// ("div" with the text "floor" is "div_floor"). Empty if the operator has no `op=`, or has
// arguments that no formula describes (elu_backward that scales both input and result).
[[nodiscard]] std::string FormulaOf(const OpCall& call, DType result);

// The recorded result of an element-wise call; for in-place operators without one, the first
// argument; nullptr if there is neither.
[[nodiscard]] const TensorDesc* ElementwiseResult(const OpCall& call);

// sort(self, dim, descending), sort.stable(self, stable, dim, descending), argsort alike,
// topk(self, k, dim, largest, sorted): the place of `dim` among the arguments.
[[nodiscard]] std::size_t SortDimArgument(const OpCall& call);

// The dimension, 0 for a scalar; nothing if self has no such dimension, or is no tensor.
[[nodiscard]] std::optional<std::size_t> SortDim(const OpCall& call);

// How many pairs of a query and a key an attention looks at.
// Query i, from 0, sees the first i + 1 + shift keys, as far as there are any. `shift` is 0 where
// the first query and key are aligned, keys - queries where the last are.
[[nodiscard]] double CausalPairs(double queries, double keys, double shift);

// Keys that a query of a causal attention sees, its own position's among them; 0: all of them.
// Nothing: a window that is none of these, as one that looks ahead.
[[nodiscard]] std::optional<std::int64_t> AttentionWindow(const OpCall& call);

// Of flash attention over sequences that are packed in a row, where the call has their starts as
// numbers: one call each, as of a batch of one sequence. Empty: the call is none of these; captures
// have a tensor there, whose values they do not record.
[[nodiscard]] std::vector<OpCall> PackedSequences(const OpCall& call);

}  // namespace reprise
