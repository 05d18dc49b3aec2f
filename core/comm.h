// Collectives and point-to-point transfers, as plain values shared by converter, files and engine.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/enum_names.h"

namespace reprise {

enum class CommKind : std::uint8_t {
  kAllReduce,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kBroadcast,
  kAllToAll,  // even or uneven (splits not empty)
  kReduceScatter,
  kBarrier,
  kSend,
  kRecv,
  kUnknown,  // the trace does not say; never carried out
};
REPRISE_NAMES(CommKind, "all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast",
              "all_to_all", "reduce_scatter", "barrier", "send", "recv", "unknown");
// Those that can be carried out.
inline constexpr std::array kCommKinds = {
    CommKind::kAllReduce, CommKind::kReduce,    CommKind::kAllGather, CommKind::kGather,
    CommKind::kScatter,   CommKind::kBroadcast, CommKind::kAllToAll,  CommKind::kReduceScatter,
    CommKind::kBarrier,   CommKind::kSend,      CommKind::kRecv};
enum class ReduceOp : std::uint8_t {
  kSum,
  kAvg,
  kMin,
  kMax,
  kProd,
  kBand,
  kBor,
  kBxor,
  // NCCL's: every contribution times a factor, then the sum. No trace records the factor: it is
  // kPremulFactor, which every dtype holds exactly.
  kPremulSum,
};
REPRISE_NAMES(ReduceOp, "sum", "avg", "min", "max", "prod", "band", "bor", "bxor", "premul_sum");
inline constexpr int kPremulFactor = 2;

// By name; nccl-tests' and PyTorch's spellings all parse. None: a name that says no kind.
[[nodiscard]] std::optional<CommKind> ParseCommKind(std::string_view text);
[[nodiscard]] std::optional<ReduceOp> ParseReduceOp(std::string_view text);
[[nodiscard]] constexpr bool IsPointToPoint(CommKind kind) {
  return kind == CommKind::kSend || kind == CommKind::kRecv;
}
// The result is a combination of all contributions.
[[nodiscard]] constexpr bool IsReduction(CommKind kind) {
  return kind == CommKind::kAllReduce || kind == CommKind::kReduce ||
         kind == CommKind::kReduceScatter;
}
[[nodiscard]] constexpr bool HasRoot(CommKind kind) {
  return kind == CommKind::kReduce || kind == CommKind::kGather || kind == CommKind::kScatter ||
         kind == CommKind::kBroadcast;
}
// One block of each member comes together: a member's own is what it puts in.
[[nodiscard]] constexpr bool IsGathering(CommKind kind) {
  return kind == CommKind::kAllGather || kind == CommKind::kGather;
}
// A buffer of one block for each member is taken apart: a member's own is what it receives.
[[nodiscard]] constexpr bool IsScattering(CommKind kind) {
  return kind == CommKind::kReduceScatter || kind == CommKind::kScatter;
}
// A buffer of the transfer has a block for each member.
[[nodiscard]] constexpr bool HasBlocks(CommKind kind) {
  return IsGathering(kind) || IsScattering(kind) || kind == CommKind::kAllToAll;
}

// How sure we are of a transfer's process group.
enum class GroupCertainty : std::uint8_t {
  kRecorded,  // the capture names it
  kInferred,  // the only assignment consistent with membership, sizes and times
  kUnknown,   // several fit; replay refuses by default
};
REPRISE_NAMES(GroupCertainty, "recorded", "inferred", "unknown");

// When a send ends.
enum class SendEnd : std::uint8_t {
  kReceived,    // with its receive, as NCCL's and gloo's do
  kSent,        // without it, as in simulators: the receive waits for the send, never the reverse
  kUnreceived,  // likewise, and no rank has a receive for it: nothing is sent
};
REPRISE_NAMES(SendEnd, "received", "sent", "unreceived");

// How far a transfer had got when its recording ended.
enum class TransferState : std::uint8_t {
  kCompleted,
  kStarted,    // it ran, and had not ended
  kScheduled,  // it was issued, and nobody noticed that it ran
};
REPRISE_NAMES(TransferState, "completed", "started", "scheduled");

// One transfer as one rank takes part in it. Ranks are global ranks, sizes are this rank's. What
// the trace does not say is unknown, and not a number: LacksOf.
struct CommSpec {
  CommKind kind = CommKind::kAllReduce;
  std::string group;  // id within the TraceSet (TraceSet::groups), e.g. "0"
  GroupCertainty certainty = GroupCertainty::kRecorded;
  // Position among this rank's transfers of the same sequence: collectives of the group, or
  // transfers to/from the same peer in the same direction. Matching across ranks is by this.
  std::int64_t index = 0;
  std::int64_t sequence = -1;  // the capture's own number, -1 if none
  DType dtype = DType::kUnknown;
  std::int64_t in_bytes = 0;   // what this rank contributes
  std::int64_t out_bytes = 0;  // what it receives
  bool bytes_known = true;     // false: both are 0 and mean nothing
  // ContributedBytes of the member with the most of them, where members differ and all are known;
  // -1: as this rank's own.
  std::int64_t largest_bytes = -1;
  std::vector<std::int64_t> in_splits;  // elements per group rank, empty = even
  std::vector<std::int64_t> out_splits;
  std::int32_t root = -1;  // global rank; broadcast, reduce, gather, scatter; -1: unknown
  std::int32_t peer = -1;  // global rank; send, recv; -1: unknown
  std::int32_t tag = 0;
  ReduceOp op = ReduceOp::kSum;
  bool op_recorded = false;  // c10d hides the operation in an <Object>; kSum is then assumed
  bool async = false;        // the issuing call returned before the transfer ended
  SendEnd send_end = SendEnd::kReceived;
  TransferState state = TransferState::kCompleted;
  // Other members' recordings lack it: it matches no other transfer.
  bool unmatched = false;
  // When the call issued it, and when the process noticed that it had started and ended, which may
  // be long after it did; as Node::start_ns; -1: not recorded.
  std::int64_t issued_ns = -1;
  std::int64_t noticed_start_ns = -1;
  std::int64_t noticed_end_ns = -1;
  // The other side is not replayed, or there is none (kUnreceived, unmatched): the transfer takes
  // its recorded time and moves no data. Never in files.
  bool outside = false;
  bool operator==(const CommSpec&) const = default;
};

// What is missing to carry the transfer out, or to model it: "kind", "size", "root", "peer",
// "members" (unmatched), "process group"; empty: nothing. A transfer that lacks something matches
// no other, and takes its recorded time.
[[nodiscard]] std::string_view LacksOf(const CommSpec& spec);
inline constexpr std::string_view kLacksGroup = "process group";

// The transfers among which order matters: the collectives of a group, or its point-to-point
// transfers from one rank to another.
struct SequenceKey {
  std::string group;
  std::int32_t source = -1;
  std::int32_t destination = -1;
  [[nodiscard]] bool IsPointToPoint() const { return source >= 0 || destination >= 0; }
  auto operator<=>(const SequenceKey&) const = default;
};
// `rank`: whose transfer it is.
[[nodiscard]] SequenceKey SequenceOf(const CommSpec& spec, std::int32_t rank);

// Bytes that one member puts in, as Chakra's comm_size means them: in_bytes; of a broadcast or
// scatter, whose members have only one side, and of a receive the larger side. For matching members
// of a collective but the uneven ones, the same number on each.
[[nodiscard]] std::int64_t ContributedBytes(const CommSpec& spec);
// Bytes that algbw counts (nccl-tests doc/PERFORMANCE.md): the total of all members' parts for
// all_gather, reduce_scatter, gather and scatter, the size of this rank's buffer otherwise.
[[nodiscard]] std::int64_t AlgorithmBytes(const CommSpec& spec, int group_size);
// busbw = algbw × this (nccl-tests doc/PERFORMANCE.md): all_reduce 2(n−1)/n; all_gather,
// reduce_scatter, all_to_all, gather, scatter (n−1)/n; everything else 1.
[[nodiscard]] double BusFactor(CommKind kind, int group_size);

}  // namespace reprise
