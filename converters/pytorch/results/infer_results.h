// Infers the results of operations from their inputs, for captures without results: Kineto's
// events.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/value.h"

namespace reprise::pytorch {

// One recorded call. Nothing of its results is used.
struct RecordedCall {
  std::string_view name;  // "aten::mm"
  const ValueList& inputs;
  // Statistics of narrow types are kept in float32 on a GPU, mostly not on a CPU.
  bool on_gpu = false;
};

// The results in schema order, as PyTorch's shape functions have them: shapes, element types and
// strides. Nothing if anything that they depend on is not among the inputs, or if PyTorch's
// versions or backends differ in it; never a guess. A tensor that the call created has storage id
// 0; one that it was given (in-place operations, out=) is that input. A result that nobody can know
// from the inputs and that only the operation's backward reads (cuDNN's workspace, random states)
// is None.
[[nodiscard]] std::optional<ValueList> InferResults(const RecordedCall& call);

}  // namespace reprise::pytorch
