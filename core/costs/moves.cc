// Copies, constants, sequences and random numbers.

#include "core/costs/operands.h"
#include "core/costs/rules.h"

namespace reprise::cost_rules {
namespace {

// A hash of a counter and a conversion, as kernels/ops/random/random_draw.h has them, roughly.
constexpr double kDrawFlops = 10;

}  // namespace

// What is read is written, or a constant is.
std::optional<Cost> Move(const OpCall& call) { return Cost{0, MovedBytes(call)}; }

// tril_ and the like keep some of what they write over.
std::optional<Cost> ReadAndWrite(const OpCall& call) { return Cost{0, OperandBytes(call)}; }

// split_with_sizes_copy(self, sizes, dim, *, out[]): the parts, which may be less than self.
std::optional<Cost> SplitCopy(const OpCall& call) {
  auto parts = call.InputTensors(3);
  if (parts.empty()) {
    parts = TensorsIn(call.outputs);
  }
  return parts.empty() ? std::nullopt : std::optional(Cost{0, 2 * Bytes(parts)});
}

// all_gather_copy_in(inputs, output, …): this rank's part of the output.
std::optional<Cost> GatherCopyIn(const OpCall& call) {
  const auto inputs = call.InputTensors(0);
  return inputs.empty() ? std::nullopt : std::optional(Cost{0, 2 * Bytes(inputs)});
}

// The gradient of padding or of windows: an addition for each element that is read.
std::optional<Cost> FoldBack(const OpCall& call) {
  const TensorDesc* from = call.InputTensor(0);
  return PerElement(from, 1, Bytes(from) + ResultBytes(call));
}

// start + i step
std::optional<Cost> Sequence(const OpCall& call) {
  const TensorDesc* out = call.OutputTensor(0);
  return PerElement(out, 2, Bytes(out));
}

// bernoulli(self) and bernoulli_(self, p) read their probabilities; self is otherwise overwritten.
std::optional<Cost> Random(const OpCall& call) {
  const TensorDesc* out = call.OutputTensor(0);
  if (out == nullptr) {
    out = InPlace(call) ? call.InputTensor(0) : nullptr;
  }
  return PerElement(out, kDrawFlops, MovedBytes(call));
}

// A number drawn, compared, and a product.
std::optional<Cost> Dropout(const OpCall& call) {
  return PerElement(call.InputTensor(0), kDrawFlops + 2, OperandBytes(call));
}

}  // namespace reprise::cost_rules
