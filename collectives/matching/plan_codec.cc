#include "collectives/matching/plan_codec.h"

#include <tuple>

#include "collectives/byte_text.h"

namespace reprise {
namespace {

// References to all that travels, for either direction.
template <typename Transfer>
auto FieldsOf(Transfer& planned) {
  auto& spec = planned.spec;
  return std::tie(planned.node_id, spec.kind, spec.group, spec.certainty, spec.index, spec.sequence,
                  spec.dtype, spec.in_bytes, spec.out_bytes, spec.in_splits, spec.out_splits,
                  spec.root, spec.peer, spec.tag, spec.op, spec.op_recorded, spec.async,
                  spec.send_end, spec.outside);
}

}  // namespace

std::string EncodeTransfers(std::span<const PlannedTransfer* const> transfers,
                            std::size_t most_bytes) {
  ByteWriter writer;
  for (const PlannedTransfer* transfer : transfers) {
    std::apply([&](const auto&... fields) { writer.Put(fields...); }, FieldsOf(*transfer));
    if (writer.bytes() >= most_bytes) {
      break;
    }
  }
  return writer.Take();
}

Result<std::vector<PlannedTransfer>> DecodeTransfers(std::string_view text) {
  std::vector<PlannedTransfer> transfers;
  ByteReader reader(text);
  while (!reader.AtEnd()) {
    PlannedTransfer& planned = transfers.emplace_back();
    std::apply([&](auto&... fields) { reader.Read(fields...); }, FieldsOf(planned));
    if (!reader.ok()) {
      return BadInput("a rank's transfers do not decode: another version of this program?");
    }
  }
  return transfers;
}

}  // namespace reprise
