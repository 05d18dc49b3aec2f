// Transfers of all ranks of a set, and an order in which every rank can do them one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/comm.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"

namespace reprise::astra_sim {

// One collective with all its members, or a send with its receive.
struct Match {
  struct Member {
    std::size_t rank;  // = position in the span of graphs
    Graph::Index node;
  };
  std::vector<Member> members;
  CommKind kind = CommKind::kAllReduce;  // kSend for a pair
  std::string group;                     // collectives
  std::int64_t size_bytes = 0;           // the largest contribution of a member
  std::int64_t index = 0;                // position in its sequence
};

struct SetTransfers {
  static constexpr std::int32_t kNone = -1;
  std::vector<Match> matches;
  // By rank and node: index into `matches`; kNone: no transfer, or one that has no counterpart.
  std::vector<std::vector<std::int32_t>> match_of;
};

// Complete matches of more than one member. Transfers that are in none are counted: of a group of
// one rank (`transfer_of_one_rank`), or without a counterpart on every member
// (`transfer_without_counterpart`).
[[nodiscard]] SetTransfers MatchSet(std::span<const Graph> graphs,
                                    const std::map<std::string, ProcessGroup>& groups,
                                    Diagnostics& diagnostics);

// By rank: its matched collectives and sends in an order that agrees with all dependencies of all
// ranks and is the same on all members: ranks that do them one after the other never wait for each
// other in a circle. Of several such orders the one nearest to the recorded starts. `more_deps`, by
// rank and node, are dependencies beside the graphs'. Bad input if the dependencies have a circle.
[[nodiscard]] Result<std::vector<std::vector<Graph::Index>>> OrderTransfers(
    std::span<const Graph> graphs, const SetTransfers& transfers,
    std::span<const std::vector<std::vector<Graph::Index>>> more_deps);

}  // namespace reprise::astra_sim
