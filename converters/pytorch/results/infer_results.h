// Infers the results of operations from their inputs, for captures without results: Kineto's
// events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace reprise::pytorch {

// One recorded call, without its results. Arguments by position: nothing where they are absent or
// of another kind.
struct CallInputs {
  std::string_view name;  // "aten::mm"
  const ValueList& inputs;
  // Statistics of narrow types are kept in float32 on a GPU, mostly not on a CPU.
  bool on_gpu = false;

  [[nodiscard]] std::size_t size() const { return inputs.size(); }
  [[nodiscard]] const Value& operator[](std::size_t i) const { return inputs[i]; }
  // Of a known element type and rank.
  [[nodiscard]] const TensorDesc* Tensor(std::size_t i) const;
  // As Tensor. Null as well if the tensor is not contiguous.
  [[nodiscard]] const TensorDesc* ContiguousTensor(std::size_t i) const;
  // None, or an undefined tensor. Kineto hides strings and lists of optional tensors in the same
  // way: a rule may ask only where the schema has neither.
  [[nodiscard]] bool Absent(std::size_t i) const;
  [[nodiscard]] bool IsNumber(std::size_t i) const;
  [[nodiscard]] std::optional<std::int64_t> Integer(std::size_t i) const;
  [[nodiscard]] std::optional<bool> Flag(std::size_t i) const;
  // A list of integers or booleans; one integer as a list of one.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> Integers(std::size_t i) const;
  // As many integers; one stands for all of them.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> Integers(std::size_t i,
                                                                  std::size_t count) const;
};

// The results in schema order, as PyTorch's shape functions have them: shapes, element types and
// strides. Nothing if anything that they depend on is not among the inputs, or if PyTorch's
// versions or backends differ in it; never a guess. A tensor that the call created has storage id
// 0; one that it was given (in-place operations, out=) is that input. A result that nobody can know
// from the inputs and that only the operation's backward reads (cuDNN's workspace, random states)
// is None.
[[nodiscard]] std::optional<ValueList> InferResults(const CallInputs& in);

}  // namespace reprise::pytorch
