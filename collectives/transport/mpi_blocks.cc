// Kinds that move a block to or from each member: all_gather, gather, scatter, all_to_all.
#include <algorithm>

#include "collectives/transport/mpi_transfer.h"

namespace reprise {
namespace {

constexpr int kBlockTag = 1;  // 0 is send and recv's

// `bytes` of each member's block, blocks `stride` apart: what one part of a cut gather moves.
class StridedBlock {
 public:
  StridedBlock(std::int64_t bytes, std::int64_t stride) {
    if (bytes == stride) {
      return;  // plain bytes suffice, and MPI has fast paths for them
    }
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(stride), &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&block);
  }
  ~StridedBlock() {
    if (type_ != MPI_DATATYPE_NULL) {
      MPI_Type_free(&type_);  // pending transfers keep it alive
    }
  }
  StridedBlock(const StridedBlock&) = delete;
  StridedBlock& operator=(const StridedBlock&) = delete;
  [[nodiscard]] MPI_Datatype type() const { return type_ == MPI_DATATYPE_NULL ? MPI_BYTE : type_; }
  [[nodiscard]] int count(std::int64_t bytes) const {
    return type_ == MPI_DATATYPE_NULL ? static_cast<int>(bytes) : 1;
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// A message of an uneven exchange; `offset` into the buffer.
struct Message {
  int peer;
  std::int64_t offset;
  std::int64_t bytes;
};

std::vector<Message> BlocksOf(const std::vector<std::int64_t>& blocks) {
  std::vector<Message> messages;
  std::int64_t offset = 0;
  for (const std::int64_t bytes : blocks) {
    messages.push_back({static_cast<int>(messages.size()), offset, bytes});
    offset += bytes;
  }
  return messages;
}

std::vector<Message> Incoming(const MpiCall& call) {
  const bool is_root = call.layout.root == call.place.rank;
  if (call.spec.kind == CommKind::kScatter) {
    return {{call.layout.root, 0, call.layout.out_bytes}};
  }
  if (call.spec.kind == CommKind::kGather && !is_root) {
    return {};
  }
  return BlocksOf(call.layout.out_blocks);
}

std::vector<Message> Outgoing(const MpiCall& call) {
  const bool is_root = call.layout.root == call.place.rank;
  switch (call.spec.kind) {
    case CommKind::kGather:
      return {{call.layout.root, 0, call.layout.in_bytes}};
    case CommKind::kAllGather: {
      std::vector<Message> messages;
      messages.reserve(static_cast<std::size_t>(call.place.size()));
      for (int peer = 0; peer < call.place.size(); ++peer) {
        messages.push_back({peer, 0, call.layout.in_bytes});
      }
      return messages;
    }
    case CommKind::kScatter:
      return is_root ? BlocksOf(call.layout.in_blocks) : std::vector<Message>();
    default:
      return BlocksOf(call.layout.in_blocks);
  }
}

// From this rank on, so that not all ranks begin with rank 0.
void BeginAt(int rank, std::vector<Message>& messages) {
  if (static_cast<std::size_t>(rank) < messages.size()) {
    std::rotate(messages.begin(), messages.begin() + rank, messages.end());
  }
}

}  // namespace

Status MpiCall::StartEvenBlocks() {
  const std::int64_t block = layout.block_bytes;
  const std::int64_t own_offset = block * place.rank;
  const std::byte* in_place_at = nullptr;
  if (IsGathering(spec.kind) && !out.empty()) {
    in_place_at = out.data() + own_offset;
  } else if (spec.kind == CommKind::kScatter && out.data() == in.data() + own_offset) {
    in_place_at = in.data();  // MPI then leaves the root's own block where it is
  }
  const std::byte* source = Source(*this, in_place_at);
  const bool in_place = source == static_cast<const std::byte*>(MPI_IN_PLACE);
  const std::int64_t most = std::max<std::int64_t>(1, state.max_message_bytes / place.size());
  return InParts(block, most, 1, [&](std::int64_t offset, std::int64_t bytes) {
    const StridedBlock strided(bytes, block);
    const MPI_Datatype type = strided.type();
    const int count = strided.count(bytes);
    const auto plain = static_cast<int>(bytes);
    const std::byte* from = Advance(source, offset);
    std::byte* to = out.empty() ? nullptr : out.data() + offset;
    MPI_Request* request = transfer.NewRequest();
    switch (spec.kind) {
      case CommKind::kAllGather:
        return CheckMpi(MPI_Iallgather(from, plain, MPI_BYTE, to, count, type, comm, request),
                        "MPI_Iallgather");
      case CommKind::kGather:
        return CheckMpi(
            MPI_Igather(from, plain, MPI_BYTE, to, count, type, layout.root, comm, request),
            "MPI_Igather");
      case CommKind::kScatter:
        // Here MPI_IN_PLACE stands for the receive buffer, on the root.
        return CheckMpi(in_place ? MPI_Iscatter(in.data() + offset, count, type, MPI_IN_PLACE,
                                                plain, MPI_BYTE, layout.root, comm, request)
                                 : MPI_Iscatter(from, count, type, to, plain, MPI_BYTE, layout.root,
                                                comm, request),
                        "MPI_Iscatter");
      default:
        return CheckMpi(MPI_Ialltoall(from, count, type, to, count, type, comm, request),
                        "MPI_Ialltoall");
    }
  });
}

// MPI's v-calls address blocks by int displacements, and Open MPI sends them as a message to each
// peer anyway: the same by hand, without the limit.
Status MpiCall::StartUnevenBlocks() {
  const std::byte* source = Source(*this, nullptr);
  std::vector<Message> incoming = Incoming(*this);
  std::vector<Message> outgoing = Outgoing(*this);
  BeginAt(place.rank, incoming);
  BeginAt(place.rank, outgoing);
  const auto in_parts = [this](std::int64_t bytes, auto part) {
    return InParts(bytes, state.max_message_bytes, 1, part);
  };
  // Receives first: what arrives early then has a place to go.
  for (const Message& message : incoming) {
    std::byte* to = out.data() + message.offset;
    REPRISE_TRY(in_parts(message.bytes, [&](std::int64_t offset, std::int64_t bytes) {
      return CheckMpi(MPI_Irecv(to + offset, static_cast<int>(bytes), MPI_BYTE, message.peer,
                                kBlockTag, comm, transfer.NewRequest()),
                      "MPI_Irecv");
    }));
  }
  for (const Message& message : outgoing) {
    const std::byte* from = source + message.offset;
    REPRISE_TRY(in_parts(message.bytes, [&](std::int64_t offset, std::int64_t bytes) {
      return CheckMpi(MPI_Isend(from + offset, static_cast<int>(bytes), MPI_BYTE, message.peer,
                                kBlockTag, comm, transfer.NewRequest()),
                      "MPI_Isend");
    }));
  }
  return {};
}

}  // namespace reprise
