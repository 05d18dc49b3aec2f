// Elements and bytes of the tensors of a call, by the convention of core/costs/cost.h.
#pragma once

#include <optional>
#include <vector>

#include "core/costs/cost.h"
#include "core/value.h"

namespace reprise::cost_rules {

// Numbers: packed ones count each. 0 for a tensor that is not there.
[[nodiscard]] double Elements(const TensorDesc* tensor);
// In memory: a dimension of stride 0 counts once, and no element twice where windows overlap.
[[nodiscard]] double Bytes(const TensorDesc* tensor);
[[nodiscard]] double Bytes(const std::vector<const TensorDesc*>& tensors);

// Of every tensor among arguments and results.
[[nodiscard]] double OperandBytes(const OpCall& call);
// The same for an operation that overwrites its results: an argument that is a result as well (in
// place, or out=) is only written.
[[nodiscard]] double MovedBytes(const OpCall& call);

// Of all the results.
[[nodiscard]] double ResultBytes(const OpCall& call);

// So many FLOPs for each element of a tensor; nothing if it is not there.
[[nodiscard]] std::optional<Cost> PerElement(const TensorDesc* tensor, double flops, double bytes);

[[nodiscard]] bool IsTrue(const Value& value, bool absent);

// Elements of the shape that all broadcast to, the larger extent where they do not.
[[nodiscard]] double BroadcastElements(const std::vector<const TensorDesc*>& tensors);

// "aten::add_" and the like.
[[nodiscard]] inline bool InPlace(const OpCall& call) { return call.name.ends_with('_'); }
[[nodiscard]] inline bool Backward(const OpCall& call) { return call.name.ends_with("_backward"); }

}  // namespace reprise::cost_rules
