#include "replayer/staging.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

// These take and give the same tensor: one area serves, and MPI works in place.
bool IsInPlace(const CommSpec& spec) {
  return (spec.kind == CommKind::kAllReduce || spec.kind == CommKind::kBroadcast) &&
         spec.in_bytes == spec.out_bytes;
}

}  // namespace

Result<Staging> Staging::Create(const CommSpec& spec, const OpCall& call, const Bindings* memory) {
  Staging staging;
  staging.in_place_ = IsInPlace(spec);
  staging.in_.resize(staging.in_place_ ? 0 : static_cast<std::size_t>(spec.in_bytes));
  staging.out_.resize(static_cast<std::size_t>(spec.out_bytes));
  if (memory == nullptr) {
    return staging;
  }
  const auto pieces = [&](const std::vector<const TensorDesc*>& tensors, std::int64_t area_bytes,
                          std::vector<Piece>& out) -> Status {
    std::int64_t at = 0;
    for (const TensorDesc* tensor : tensors) {
      const std::int64_t bytes =
          std::min(tensor->elements * SizeOf(tensor->dtype), area_bytes - at);
      if (bytes <= 0) {
        continue;
      }
      Buffer* buffer = memory->Find(tensor->incarnation);
      const std::int64_t offset = tensor->offset * SizeOf(tensor->dtype);
      if (buffer == nullptr || offset + bytes > buffer->size_bytes()) {
        return BadInput(
            fmt::format("{}: tensor {} lies outside of its storage", call.name, tensor->tensor_id));
      }
      out.push_back({buffer, offset, at, bytes});
      at += bytes;
    }
    return {};
  };
  const auto inputs = TensorsIn(call.inputs);
  const auto outputs = TensorsIn(call.outputs);
  REPRISE_TRY(pieces(inputs, spec.in_bytes, staging.in_pieces_));
  REPRISE_TRY(pieces(outputs.empty() ? inputs : outputs, spec.out_bytes, staging.out_pieces_));
  return staging;
}

Status Staging::Download(Stream& stream) {
  for (const Piece& piece : in_pieces_) {
    REPRISE_TRY(stream.Download(in().data() + piece.area_offset_bytes, *piece.buffer,
                                piece.device_offset_bytes, piece.bytes));
  }
  return in_pieces_.empty() ? Status{} : stream.Finish();
}

Status Staging::Upload(Stream& stream) {
  for (const Piece& piece : out_pieces_) {
    REPRISE_TRY(stream.Upload(*piece.buffer, piece.device_offset_bytes,
                              out_.data() + piece.area_offset_bytes, piece.bytes));
  }
  return out_pieces_.empty() ? Status{} : stream.Finish();
}

}  // namespace reprise
