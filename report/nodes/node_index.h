// Finds a rank's nodes by their ids. Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/records.h"

namespace reprise {

// Ids are mostly without large holes: a table then, else a search. Of two nodes of one id the first
// is found.
class NodeIndex {
 public:
  NodeIndex() = default;
  explicit NodeIndex(std::span<const NodeInfo> nodes);
  // The position in `nodes`.
  [[nodiscard]] std::optional<std::uint32_t> Find(std::uint64_t node_id) const;

 private:
  std::uint64_t first_id_ = 0;
  std::vector<std::uint32_t> table_;                             // by id − first_id_
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted_;  // where there is no table
};

}  // namespace reprise
