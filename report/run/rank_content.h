// How much of a rank is read.
#pragma once

#include <cstdint>

namespace reprise {

enum class RankContent : std::uint8_t {
  kWhole,
  kOperations,  // all but edges: what ran when
  kTransfers,   // transfers with their nodes and records, and steps: what ranks need of each other
  kOutline,     // nothing that grows with its nodes
};

}  // namespace reprise
