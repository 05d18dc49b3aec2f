// How transfers of a captured set change between two machines. Only predict/simulator/scale and
// predict/simulator/captured_flows see this.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/comm.h"
#include "predict/simulator/link_sharing.h"
#include "predict/simulator/network.h"
#include "predict/simulator/shared_links.h"

namespace reprise {

// Those of one set on one machine. Groups of one size are taken to transfer at the same time; with
// flow-level sharing, each transfer has its links to itself here.
class SetNetwork {
 public:
  SetNetwork(const Network& network, const std::map<std::string, std::vector<std::int32_t>>& groups,
             NetworkModel model);

  // Before the first TimeOf: a pair of the set.
  void AddPair(std::int32_t sender, std::int32_t receiver);
  // A transfer that `rank` takes part in; 0 ns where its group is not known.
  [[nodiscard]] TransferTime TimeOf(const CommSpec& spec, std::int32_t rank);
  // What it puts on links, while it takes `time`, not 0.
  [[nodiscard]] SharedLinks::Route RouteOf(const CommSpec& spec, std::int32_t rank,
                                           const TransferTime& time, SharedLinks& links) const;

 private:
  // Sender and receiver, or a group's; empty: not known.
  [[nodiscard]] std::vector<std::int32_t> MembersOf(const CommSpec& spec, std::int32_t rank) const;

  const NetworkModel model_;
  LinkSharing sharing_;
  const std::map<std::string, std::vector<std::int32_t>>& groups_;
  std::set<std::pair<std::int32_t, std::int32_t>> pairs_;
  std::map<std::string, GroupShape> shapes_;
};

}  // namespace reprise
