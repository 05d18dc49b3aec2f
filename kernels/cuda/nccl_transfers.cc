#include "kernels/cuda/nccl_transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>

#include "kernels/cuda/cuda_stream.h"

namespace reprise {
namespace {

constexpr int kNcclBytes = 0;  // ncclInt8: for transfers that only move data

// ncclDataType_t of what it can reduce. PyTorch reduces bool by other operations.
std::optional<int> NcclType(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return 0;
    case DType::kUInt8:
      return 1;
    case DType::kInt32:
      return 2;
    case DType::kInt64:
      return 4;
    case DType::kFloat16:
      return 6;
    case DType::kFloat32:
      return 7;
    case DType::kFloat64:
      return 8;
    case DType::kBFloat16:
      return 9;
    default:
      return std::nullopt;
  }
}

// ncclRedOp_t.
std::optional<int> NcclOp(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::kSum:
      return 0;
    case ReduceOp::kProd:
      return 1;
    case ReduceOp::kMax:
      return 2;
    case ReduceOp::kMin:
      return 3;
    case ReduceOp::kAvg:
      return IsFloating(dtype) ? std::optional(4) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::int64_t TotalBytes(const std::vector<std::int64_t>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0});
}

// One call moves a piece as a whole, and members' pieces match one by one.
bool GoesByPieces(CommKind kind) {
  return kind == CommKind::kAllReduce || kind == CommKind::kReduce ||
         kind == CommKind::kBroadcast || IsPointToPoint(kind);
}

bool AllEqual(const std::vector<std::int64_t>& blocks) {
  return std::adjacent_find(blocks.begin(), blocks.end(), std::not_equal_to<>()) == blocks.end();
}

bool HasCallForBlocks(const DeviceTransfer& transfer) {
  return (transfer.kind == CommKind::kAllGather && AllEqual(transfer.out_blocks)) ||
         (transfer.kind == CommKind::kReduceScatter && AllEqual(transfer.in_blocks));
}

bool OverlapOnDevice(const DevicePiece& a, const DevicePiece& b) {
  return a.buffer == b.buffer && a.offset_bytes < b.offset_bytes + b.bytes &&
         b.offset_bytes < a.offset_bytes + a.bytes;
}

// Either side may be absent; no piece of one overlaps another one's of the other side.
bool PiecesMatch(const DeviceTransfer& transfer) {
  if (transfer.in.empty() || transfer.out.empty()) {
    return transfer.in.size() + transfer.out.size() > 0;
  }
  if (transfer.in.size() != transfer.out.size()) {
    return false;
  }
  for (std::size_t i = 0; i < transfer.in.size(); ++i) {
    for (std::size_t k = 0; k < transfer.out.size(); ++k) {
      const DevicePiece& in = transfer.in[i];
      const DevicePiece& out = transfer.out[k];
      const bool in_place = i == k && in.offset_bytes == out.offset_bytes;
      if ((i == k && in.bytes != out.bytes) || (OverlapOnDevice(in, out) && !in_place)) {
        return false;
      }
    }
  }
  return true;
}

// Each side that the member has is one piece of whole blocks.
bool BlocksMatch(const DeviceTransfer& transfer, int rank) {
  if (transfer.in.size() > 1 || transfer.out.size() > 1) {
    return false;
  }
  const auto holds = [](const std::vector<DevicePiece>& side,
                        const std::vector<std::int64_t>& blocks) {
    return side.empty() || blocks.empty() || side.front().bytes == TotalBytes(blocks);
  };
  if (!holds(transfer.in, transfer.in_blocks) || !holds(transfer.out, transfer.out_blocks)) {
    return false;
  }
  if (transfer.in.empty() || transfer.out.empty() ||
      !OverlapOnDevice(transfer.in.front(), transfer.out.front())) {
    return true;
  }
  const bool gathers = transfer.kind == CommKind::kAllGather;
  const DevicePiece& share = gathers ? transfer.in.front() : transfer.out.front();
  const DevicePiece& whole = gathers ? transfer.out.front() : transfer.in.front();
  return HasCallForBlocks(transfer) &&
         share.offset_bytes == whole.offset_bytes + rank * share.bytes;
}

class NcclGroup final : public DeviceGroup {
 public:
  NcclGroup(std::shared_ptr<CudaContext> context, std::shared_ptr<const Nccl> nccl,
            NcclHandle group, int rank, int size)
      : context_(std::move(context)),
        nccl_(std::move(nccl)),
        group_(group),
        rank_(rank),
        size_(size) {}
  ~NcclGroup() override {
    if (group_ != nullptr) {
      (void)context_->Use();
      (void)nccl_->leave(group_);
    }
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  [[nodiscard]] Result<bool> IsReady() override;
  [[nodiscard]] Status Enqueue(const DeviceTransfer& transfer, Stream& stream) override;
  void Abort() override;

 private:
  [[nodiscard]] Status EnqueuePiece(const DeviceTransfer& transfer, std::size_t piece,
                                    CudaStream& stream);
  [[nodiscard]] Status EnqueueBlocks(const DeviceTransfer& transfer, CudaStream& stream);
  [[nodiscard]] Status Exchange(const DeviceTransfer& transfer, CudaStream& stream);
  [[nodiscard]] Status Check(int code, CommKind kind) const {
    return nccl_->Check(code, Name(kind));
  }

  const std::shared_ptr<CudaContext> context_;
  const std::shared_ptr<const Nccl> nccl_;
  NcclHandle group_;
  const int rank_;
  const int size_;
};

Result<bool> NcclGroup::IsReady() {
  if (group_ == nullptr) {
    return EnvironmentError("NCCL: the group was ended");
  }
  (void)context_->Use();
  int state = 0;
  REPRISE_TRY(nccl_->Check(nccl_->state(group_, &state), "asking for errors"));
  REPRISE_TRY(nccl_->Check(state, fmt::format("member {} of {}", rank_, size_)));
  return state != kNcclInProgress;
}

void NcclGroup::Abort() {
  if (group_ != nullptr) {
    (void)context_->Use();
    (void)nccl_->end(group_);
    group_ = nullptr;
  }
}

Status NcclGroup::Enqueue(const DeviceTransfer& transfer, Stream& stream) {
  auto* const cuda = dynamic_cast<CudaStream*>(&stream);
  if (cuda == nullptr || group_ == nullptr) {
    return UsageError("a transfer by NCCL on another backend's stream, or after its end");
  }
  (void)context_->Use();
  REPRISE_TRY(nccl_->Check(nccl_->begin_group(), "beginning a group of calls"));
  Status enqueued;
  if (GoesByPieces(transfer.kind)) {
    const std::size_t pieces = std::max(transfer.in.size(), transfer.out.size());
    for (std::size_t piece = 0; enqueued && piece < pieces; ++piece) {
      enqueued = EnqueuePiece(transfer, piece, *cuda);
    }
  } else {
    enqueued = EnqueueBlocks(transfer, *cuda);
  }
  const Status ended = Check(nccl_->end_group(), transfer.kind);  // whatever came before
  return enqueued ? ended : enqueued;
}

Status NcclGroup::EnqueuePiece(const DeviceTransfer& transfer, std::size_t piece,
                               CudaStream& stream) {
  const DevicePiece& from = transfer.in.empty() ? transfer.out[piece] : transfer.in[piece];
  const DevicePiece& to = transfer.out.empty() ? transfer.in[piece] : transfer.out[piece];
  REPRISE_ASSIGN(const CudaAddress in, stream.AddressOf(from.buffer, from.offset_bytes));
  REPRISE_ASSIGN(const CudaAddress out, stream.AddressOf(to.buffer, to.offset_bytes));
  const auto bytes = static_cast<std::size_t>(from.bytes);
  const std::size_t count = bytes / static_cast<std::size_t>(std::max(SizeOf(transfer.dtype), 1));
  const int type = NcclType(transfer.dtype).value_or(kNcclBytes);
  const int op = NcclOp(transfer.op, transfer.dtype).value_or(0);
  const CudaHandle at = stream.handle();
  switch (transfer.kind) {
    case CommKind::kAllReduce:
      return Check(nccl_->all_reduce(in, out, count, type, op, group_, at), transfer.kind);
    case CommKind::kReduce:
      return Check(nccl_->reduce(in, out, count, type, op, transfer.root, group_, at),
                   transfer.kind);
    case CommKind::kBroadcast:
      return Check(nccl_->broadcast(in, out, bytes, kNcclBytes, transfer.root, group_, at),
                   transfer.kind);
    case CommKind::kSend:
      return Check(nccl_->send(in, bytes, kNcclBytes, transfer.peer, group_, at), transfer.kind);
    default:
      return Check(nccl_->recv(out, bytes, kNcclBytes, transfer.peer, group_, at), transfer.kind);
  }
}

Status NcclGroup::EnqueueBlocks(const DeviceTransfer& transfer, CudaStream& stream) {
  if (!HasCallForBlocks(transfer)) {
    return Exchange(transfer, stream);
  }
  const DevicePiece& from = transfer.in.front();
  const DevicePiece& to = transfer.out.front();
  REPRISE_ASSIGN(const CudaAddress in, stream.AddressOf(from.buffer, from.offset_bytes));
  REPRISE_ASSIGN(const CudaAddress out, stream.AddressOf(to.buffer, to.offset_bytes));
  if (transfer.kind == CommKind::kAllGather) {
    return Check(nccl_->all_gather(in, out, static_cast<std::size_t>(from.bytes), kNcclBytes,
                                   group_, stream.handle()),
                 transfer.kind);
  }
  const auto count = static_cast<std::size_t>(to.bytes / SizeOf(transfer.dtype));
  return Check(nccl_->reduce_scatter(in, out, count, *NcclType(transfer.dtype),
                                     *NcclOp(transfer.op, transfer.dtype), group_, stream.handle()),
               transfer.kind);
}

// A side without blocks goes whole: to each member of all_gather, else to or from the root.
Status NcclGroup::Exchange(const DeviceTransfer& transfer, CudaStream& stream) {
  const auto each = [&](const std::vector<DevicePiece>& side,
                        const std::vector<std::int64_t>& blocks, const auto& call) -> Status {
    if (side.empty()) {
      return {};
    }
    REPRISE_ASSIGN(CudaAddress at,
                   stream.AddressOf(side.front().buffer, side.front().offset_bytes));
    for (int member = 0; member < size_; ++member) {
      const bool has_blocks = !blocks.empty();
      if (!has_blocks && transfer.root >= 0 && member != transfer.root) {
        continue;
      }
      const auto bytes = static_cast<std::size_t>(
          has_blocks ? blocks[static_cast<std::size_t>(member)] : side.front().bytes);
      if (bytes > 0) {
        REPRISE_TRY(Check(call(at, bytes, member), transfer.kind));
      }
      at += has_blocks ? bytes : 0;
    }
    return {};
  };
  REPRISE_TRY(each(transfer.in, transfer.in_blocks, [&](auto at, auto bytes, int member) {
    return nccl_->send(at, bytes, kNcclBytes, member, group_, stream.handle());
  }));
  return each(transfer.out, transfer.out_blocks, [&](auto at, auto bytes, int member) {
    return nccl_->recv(at, bytes, kNcclBytes, member, group_, stream.handle());
  });
}

}  // namespace

bool NcclTransfers::Takes(const DeviceTransfer& transfer, int rank, int size) const {
  const std::int64_t unit = std::max(SizeOf(transfer.dtype), 1);
  const auto whole_elements = [unit](const DevicePiece& piece) { return piece.bytes % unit == 0; };
  if (IsReduction(transfer.kind) &&
      (!NcclType(transfer.dtype) || !NcclOp(transfer.op, transfer.dtype) ||
       !std::ranges::all_of(transfer.in, whole_elements) ||
       !std::ranges::all_of(transfer.out, whole_elements))) {
    return false;
  }
  const auto is_member = [size](int place) { return place >= 0 && place < size; };
  if ((HasRoot(transfer.kind) && !is_member(transfer.root)) ||
      (IsPointToPoint(transfer.kind) && (!is_member(transfer.peer) || transfer.peer == rank))) {
    return false;
  }
  switch (transfer.kind) {
    case CommKind::kBarrier:
    case CommKind::kUnknown:
      return false;
    case CommKind::kReduceScatter:
      return HasCallForBlocks(transfer) && !transfer.in.empty() && !transfer.out.empty() &&
             BlocksMatch(transfer, rank);
    case CommKind::kAllGather:
      return !transfer.in.empty() && !transfer.out.empty() && BlocksMatch(transfer, rank);
    default:
      return GoesByPieces(transfer.kind) ? PiecesMatch(transfer) : BlocksMatch(transfer, rank);
  }
}

Result<std::string> NcclTransfers::NewIdentity() {
  (void)context_->Use();
  NcclIdentity identity{};
  REPRISE_TRY(nccl_->Check(nccl_->new_identity(&identity), "naming a group"));
  return std::string(identity.bytes, sizeof(identity.bytes));
}

Result<std::unique_ptr<DeviceGroup>> NcclTransfers::Join(const std::string& identity, int rank,
                                                         int size) {
  NcclIdentity id{};
  if (identity.size() != sizeof(id.bytes)) {
    return UsageError("NCCL was given another library's identity of a group");
  }
  std::memcpy(id.bytes, identity.data(), sizeof(id.bytes));
  (void)context_->Use();
  NcclHandle group = nullptr;
  NcclConfig config;
  REPRISE_TRY(nccl_->Check(nccl_->join(&group, size, id, rank, &config),
                           fmt::format("joining as member {} of {}", rank, size)));
  return std::make_unique<NcclGroup>(context_, nccl_, group, rank, size);
}

}  // namespace reprise
