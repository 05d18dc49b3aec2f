// How transfers of a captured set change between two machines. Only simulator/scale sees this.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/comm.h"
#include "simulator/link_sharing.h"
#include "simulator/network.h"

namespace reprise {

// Those of one set on one machine. Groups of one size are taken to transfer at the same time.
class SetNetwork {
 public:
  SetNetwork(const Network& network,
             const std::map<std::string, std::vector<std::int32_t>>& groups);

  // Before the first TimeOf: a pair of the set.
  void AddPair(std::int32_t sender, std::int32_t receiver);
  // A transfer that `rank` takes part in; 0 ns where its group is not known.
  [[nodiscard]] TransferTime TimeOf(const CommSpec& spec, std::int32_t rank);

 private:
  LinkSharing sharing_;
  const std::map<std::string, std::vector<std::int32_t>>& groups_;
  std::set<std::pair<std::int32_t, std::int32_t>> pairs_;
  std::map<std::string, GroupShape> shapes_;
};

}  // namespace reprise
