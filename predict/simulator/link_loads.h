// What one transfer puts on the links of a machine: each byte crosses every link on its way once.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "core/comm.h"
#include "predict/simulator/network.h"

namespace reprise {

// One direction of one link: of a domain of the level below `level` into that level, or, where
// every device has an adapter of its own, of one device.
struct LinkPlace {
  std::uint32_t level = 0;
  bool adapter = false;
  bool inward = false;     // into the domain or device; else out of it
  std::int64_t place = 0;  // the domain; of an adapter the device
  auto operator<=>(const LinkPlace&) const = default;
};

struct LinkLoad {
  LinkPlace link;
  double bytes = 0;
};

struct TransferOnLinks {
  CommKind kind = CommKind::kAllReduce;
  TransferAlgorithm algorithm = TransferAlgorithm::kNone;
  double bytes = 0;                       // those that algbw counts
  std::span<const std::int32_t> devices;  // of its members; of a pair sender and receiver
  std::int64_t root = 0;                  // position in `devices`: of gather and scatter
};

// Links without load are left out. What an edge of a schedule carries:
//   ring    all_reduce 2 (n−1)/n · S, all_gather and reduce_scatter (n−1)/n · S, on n edges that
//           close a ring of the members in the order of their devices; broadcast and reduce S on
//           the n−1 of a chain
//   tree    2 S (S up, S down) on the n−1 edges
//   in-switch  S of each member into the switches, and S back
//   direct  all_to_all S/n between each two members, each way; gather, scatter S/n between each
//           member and the root; send, recv S
// Channels turn rings, chains and trees, so that links of one kind carry the mean: the edges that
// cross a level, spread over the domains that can have them, and over the adapters of the members
// there. Which levels an edge crosses: predict/simulator/network.h.
[[nodiscard]] std::vector<LinkLoad> LoadsOf(const Network& network,
                                            const TransferOnLinks& transfer);

}  // namespace reprise
