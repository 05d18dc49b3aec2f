// What a rank does and waits for, as sent to the other ranks when a run stands still.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.h"
#include "core/comm.h"

namespace reprise {

// The transfer that a sequence (the collectives of a group, or those to or from one peer in one
// direction) stands at.
struct SequenceState {
  enum class At : char {
    kIssued = 'i',      // started; the other members are missing
    kReady = 'r',       // not started: the device has not finished what it needs
    kNotReached = 'n',  // what comes before it on this rank is not over
  };
  At at = At::kNotReached;
  std::string group;
  CommKind kind = CommKind::kAllReduce;
  std::int64_t index = 0;
  std::int32_t peer = -1;
  std::uint64_t node_id = 0;
  std::int64_t bytes = 0;
  bool operator==(const SequenceState&) const = default;
};

struct RankState {
  std::int32_t rank = 0;
  bool answered = true;  // false: only the rank's number is valid
  std::string host;
  std::int64_t quiet_ns = 0;  // since the last node completed or what is known to take time ended
  std::int32_t iteration = 0;
  std::uint32_t nodes_left = 0;      // of this iteration; 0: waits where all ranks meet
  std::string last;                  // the node completed last
  std::vector<std::string> at_hand;  // nodes that have begun and are not over
  // One per sequence with anything left; those that are issued first.
  std::vector<SequenceState> sequences;
  std::int32_t sequences_left_out = 0;  // of the answer, which is short

  // At most `max_bytes`: sequences are left out, and counted, where they do not fit.
  [[nodiscard]] std::string Encode(std::size_t max_bytes) const;
  // What does not decode is left at its default: the text comes from another rank of this program.
  [[nodiscard]] static RankState Decode(std::string_view text);
  bool operator==(const RankState&) const = default;
};

// Describes a run that stands still: `headline` names the ranks at fault as far as the states show
// it; `table` has a row for each rank and sequence. `states` by rank, one of each.
struct StandstillReport {
  std::string headline;
  std::string table;
};
[[nodiscard]] StandstillReport ReportStandstill(std::span<const RankState> states,
                                                const RanksOfGroup& ranks_of_group);

}  // namespace reprise
