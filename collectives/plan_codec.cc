#include "collectives/plan_codec.h"

#include "collectives/byte_text.h"

namespace reprise {
namespace {

void Encode(const PlannedTransfer& planned, ByteWriter& writer) {
  const CommSpec& spec = planned.spec;
  writer.Put(planned.node_id);
  writer.Put(spec.kind);
  writer.PutString(spec.group);
  writer.Put(spec.certainty);
  writer.Put(spec.index);
  writer.Put(spec.sequence);
  writer.Put(spec.dtype);
  writer.Put(spec.in_bytes);
  writer.Put(spec.out_bytes);
  writer.PutList(spec.in_splits);
  writer.PutList(spec.out_splits);
  writer.Put(spec.root);
  writer.Put(spec.peer);
  writer.Put(spec.tag);
  writer.Put(spec.op);
  writer.Put(spec.op_recorded);
  writer.Put(spec.async);
  writer.Put(spec.outside);
}

PlannedTransfer Decode(ByteReader& reader) {
  PlannedTransfer planned;
  CommSpec& spec = planned.spec;
  planned.node_id = reader.Get<std::uint64_t>();
  spec.kind = reader.Get<CommKind>();
  spec.group = reader.GetString();
  spec.certainty = reader.Get<GroupCertainty>();
  spec.index = reader.Get<std::int64_t>();
  spec.sequence = reader.Get<std::int64_t>();
  spec.dtype = reader.Get<DType>();
  spec.in_bytes = reader.Get<std::int64_t>();
  spec.out_bytes = reader.Get<std::int64_t>();
  spec.in_splits = reader.GetList();
  spec.out_splits = reader.GetList();
  spec.root = reader.Get<std::int32_t>();
  spec.peer = reader.Get<std::int32_t>();
  spec.tag = reader.Get<std::int32_t>();
  spec.op = reader.Get<ReduceOp>();
  spec.op_recorded = reader.Get<bool>();
  spec.async = reader.Get<bool>();
  spec.outside = reader.Get<bool>();
  return planned;
}

}  // namespace

std::string EncodeTransfers(std::span<const PlannedTransfer* const> transfers,
                            std::size_t most_bytes) {
  ByteWriter writer;
  for (const PlannedTransfer* transfer : transfers) {
    Encode(*transfer, writer);
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
    transfers.push_back(Decode(reader));
    if (!reader.ok()) {
      return BadInput("a rank's transfers do not decode: another version of this program?");
    }
  }
  return transfers;
}

}  // namespace reprise
