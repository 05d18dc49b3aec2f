// What one member's part in a matched transfer waited for, and what is left as the transfer itself
// (docs/definitions.md, "Collectives across ranks"; docs/clocks.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/comm.h"

namespace reprise {

// Whose arrival a member's end waits for, its own included always.
enum class ArrivalNeed : std::uint8_t {
  kAll,   // every member's
  kRoot,  // the root's: receivers of broadcast and scatter; a recv needs its send
  kOwn,   // its own only: a buffered send, the root of a broadcast, a contributor to a reduce
};

struct TransferMember {
  std::int64_t start_ns = 0;  // arrival, on one clock for all members
  std::int64_t end_ns = 0;
  CommKind kind = CommKind::kAllReduce;
  bool root = false;                      // CommSpec::root, or the send of a pair
  SendEnd send_end = SendEnd::kReceived;  // of a send
};

struct TransferPart {
  ArrivalNeed need = ArrivalNeed::kAll;
  // end − latest needed arrival; negative only where the recording contradicts causality (a recv
  // that ends before its send starts): a clock error or a wrong match.
  std::int64_t transfer_ns = 0;
};

// The least that a member of this kind needs by the meaning of the operation.
[[nodiscard]] ArrivalNeed LeastNeed(CommKind kind, bool root);

// One part per member. A member is taken to wait for all, as NCCL and gloo's rendezvous make it,
// unless it ended before the last arrival and so provably did not, or is a send that ends without
// its receive: then it needs the least.
[[nodiscard]] std::vector<TransferPart> SplitTransfer(std::span<const TransferMember> members);

}  // namespace reprise
