// Which recorded transfers of several ranks are one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "converters/recorded_transfers/recorded_transfers.h"

namespace reprise::recorded_transfers {

// A rank's part in a transfer: indices of ranks and of its transfers.
struct Part {
  std::size_t rank = 0, transfer = 0;
};

struct MatchedTransfer {
  std::vector<Part> parts;  // by rank
  std::int64_t number = 0;  // of its collectives; what messages call it
  bool whole = false;       // each member has a part, and they agree
};

// A group's collectives, or the transfers from one rank to another, in an order that all members
// have them in.
struct MatchedSequence {
  SequenceKey key;
  std::size_t members = 0;  // of the group; 2 of a pair; 0: not known
  std::vector<MatchedTransfer> transfers;
};

// As AlignTransfers says (align_transfers.h). Those whose kind, group or peer is not known are in
// none.
[[nodiscard]] std::vector<MatchedSequence> MatchMembers(
    std::span<const RecordedRank> ranks, const std::map<std::string, ProcessGroup>& groups);

}  // namespace reprise::recorded_transfers
