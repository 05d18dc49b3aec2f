#include "replayer/engine/tensor_pieces.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

Result<std::vector<DevicePiece>> PiecesOf(const std::vector<const TensorDesc*>& tensors,
                                          std::int64_t side_bytes, const OpCall& call,
                                          const Bindings& memory) {
  std::vector<DevicePiece> pieces;
  for (const TensorDesc* tensor : tensors) {
    const std::int64_t bytes = std::min(tensor->elements * SizeOf(tensor->dtype), side_bytes);
    if (bytes <= 0) {
      continue;
    }
    Buffer* buffer = memory.Find(tensor->incarnation);
    const std::int64_t offset = tensor->offset * SizeOf(tensor->dtype);
    if (buffer == nullptr || offset + bytes > buffer->size_bytes()) {
      return BadInput(
          fmt::format("{}: tensor {} lies outside of its storage", call.name, tensor->tensor_id));
    }
    pieces.push_back({buffer, offset, bytes});
    side_bytes -= bytes;
  }
  return pieces;
}

}  // namespace

Result<TensorPieces> FindTensorPieces(const CommSpec& spec, const OpCall& call,
                                      const Bindings& memory) {
  const auto inputs = TensorsIn(call.inputs);
  const auto outputs = TensorsIn(call.outputs);
  TensorPieces pieces;
  REPRISE_ASSIGN(pieces.in, PiecesOf(inputs, spec.in_bytes, call, memory));
  REPRISE_ASSIGN(pieces.out,
                 PiecesOf(outputs.empty() ? inputs : outputs, spec.out_bytes, call, memory));
  return pieces;
}

}  // namespace reprise
