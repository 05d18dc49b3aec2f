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
  [[nodiscard]] std::optional<std::uint32_t> Find(std::uint64_t node_id) const {
    if (table_.empty()) {
      return Search(node_id);
    }
    const std::uint64_t place = node_id - first_id_;  // of a smaller id: beyond the table
    return place < table_.size() && table_[place] != kNone ? std::optional(table_[place])
                                                           : std::nullopt;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  [[nodiscard]] std::optional<std::uint32_t> Search(std::uint64_t node_id) const;

  std::uint64_t first_id_ = 0;
  std::vector<std::uint32_t> table_;                             // by id − first_id_
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted_;  // where there is no table
};

}  // namespace reprise
