// Reductions, broadcast, send and recv: one MPI call, or as many as the message's length takes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "collectives/transport/mpi_transfer.h"

namespace reprise {
namespace {

constexpr int kPairTag = 0;

Status ScatteredReduction(const MpiCall& call, const MpiReduction& reduction) {
  const std::byte* source = Source(call, nullptr);
  const auto elements = [&](std::int64_t bytes) {
    return static_cast<int>(bytes / reduction.type_bytes);
  };
  if (call.layout.in_bytes <= call.state.max_message_bytes) {
    if (!call.layout.uneven) {
      return CheckMpi(MPI_Ireduce_scatter_block(
                          source, call.out.data(), elements(call.layout.out_bytes), reduction.type,
                          reduction.op, call.comm, call.transfer.NewRequest()),
                      "MPI_Ireduce_scatter_block");
    }
    std::vector<int> counts;
    std::transform(call.layout.in_blocks.begin(), call.layout.in_blocks.end(),
                   std::back_inserter(counts), elements);
    return CheckMpi(MPI_Ireduce_scatter(source, call.out.data(), counts.data(), reduction.type,
                                        reduction.op, call.comm, call.transfer.NewRequest()),
                    "MPI_Ireduce_scatter");
  }
  // Too long for one call: a reduce to each member, in parts. The total is the same on every
  // member, so all of them come this way.
  std::int64_t block_offset = 0;
  for (int to = 0; to < call.place.size(); ++to) {
    const std::int64_t block = call.layout.in_blocks.empty()
                                   ? call.layout.block_bytes
                                   : call.layout.in_blocks[static_cast<std::size_t>(to)];
    REPRISE_TRY(InParts(block, call.state.max_message_bytes, reduction.type_bytes,
                        [&](std::int64_t offset, std::int64_t bytes) {
                          std::byte* target =
                              to == call.place.rank ? call.out.data() + offset : nullptr;
                          return CheckMpi(MPI_Ireduce(source + block_offset + offset, target,
                                                      elements(bytes), reduction.type, reduction.op,
                                                      to, call.comm, call.transfer.NewRequest()),
                                          "MPI_Ireduce");
                        }));
    block_offset += block;
  }
  return {};
}

}  // namespace

Status MpiCall::StartReduction() {
  const MpiReduction reduction = state.ReductionOf(spec.dtype, spec.op);
  if (spec.op == ReduceOp::kAvg) {
    transfer.AverageAtEnd(out, place.size());
  }
  if (spec.kind == CommKind::kReduceScatter) {
    return ScatteredReduction(*this, reduction);
  }
  const bool all = spec.kind == CommKind::kAllReduce;
  const std::byte* source = Source(*this, out.data());
  return InParts(layout.in_bytes, state.max_message_bytes, reduction.type_bytes,
                 [&](std::int64_t offset, std::int64_t bytes) {
                   const auto count = static_cast<int>(bytes / reduction.type_bytes);
                   const std::byte* from = Advance(source, offset);
                   if (all) {
                     return CheckMpi(
                         MPI_Iallreduce(from, out.data() + offset, count, reduction.type,
                                        reduction.op, comm, transfer.NewRequest()),
                         "MPI_Iallreduce");
                   }
                   std::byte* to = out.empty() ? nullptr : out.data() + offset;
                   return CheckMpi(MPI_Ireduce(from, to, count, reduction.type, reduction.op,
                                               layout.root, comm, transfer.NewRequest()),
                                   "MPI_Ireduce");
                 });
}

Status MpiCall::StartBroadcast() {
  const bool is_root = layout.root == place.rank;
  // MPI takes one buffer, and only reads the root's.
  std::byte* data = is_root ? const_cast<std::byte*>(in.data()) : out.data();
  if (is_root && !out.empty() && out.data() != in.data()) {
    std::memmove(out.data(), in.data(), out.size());
    data = out.data();
  }
  return InParts(layout.block_bytes, state.max_message_bytes, 1,
                 [&](std::int64_t offset, std::int64_t bytes) {
                   return CheckMpi(MPI_Ibcast(data + offset, static_cast<int>(bytes), MPI_BYTE,
                                              layout.root, comm, transfer.NewRequest()),
                                   "MPI_Ibcast");
                 });
}

Status CheckTag(int tag, int most_tag) {
  if (tag <= most_tag) {
    return {};
  }
  return EnvironmentError(fmt::format(
      "a message between ranks that are threads has tag {}, and this MPI takes at most {} "
      "(MPI_TAG_UB); start one process a rank, or choose another transport of MPI (with Open MPI: "
      "mpirun --mca pml ob1)",
      tag, most_tag));
}

Status StartMessage(MpiTransfer& transfer, std::int64_t most_bytes, MPI_Comm comm, int peer,
                    int tag, std::span<const std::byte> in, std::span<std::byte> out) {
  const bool sends = transfer.kind() == CommKind::kSend;
  const auto total = static_cast<std::int64_t>(sends ? in.size() : out.size());
  const auto part = [&](std::int64_t offset, std::int64_t bytes) {
    const auto count = static_cast<int>(bytes);
    return sends ? CheckMpi(MPI_Isend(in.data() + offset, count, MPI_BYTE, peer, tag, comm,
                                      transfer.NewRequest()),
                            "MPI_Isend")
                 : CheckMpi(MPI_Irecv(out.data() + offset, count, MPI_BYTE, peer, tag, comm,
                                      transfer.NewRequest()),
                            "MPI_Irecv");
  };
  // An empty message is a message: barriers are made of them.
  return total == 0 ? part(0, 0) : InParts(total, most_bytes, 1, part);
}

Status MpiCall::StartPointToPoint() {
  if (layout.block_bytes == 0) {
    return {};
  }
  return StartMessage(transfer, state.max_message_bytes, comm, layout.peer, kPairTag, in, out);
}

}  // namespace reprise
