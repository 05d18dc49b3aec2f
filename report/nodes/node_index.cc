#include "report/nodes/node_index.h"

#include <algorithm>

namespace reprise {
namespace {

// A place takes 4 bytes. Transfers alone are about a tenth of a rank's nodes.
constexpr std::uint64_t kMaxPlacesPerNode = 16;

}  // namespace

NodeIndex::NodeIndex(std::span<const NodeInfo> nodes) {
  if (nodes.empty()) {
    return;
  }
  const auto [least, most] = std::ranges::minmax_element(nodes, {}, &NodeInfo::node_id);
  first_id_ = least->node_id;
  const std::uint64_t last = most->node_id - first_id_;
  const auto count = static_cast<std::uint32_t>(nodes.size());
  if (last < kMaxPlacesPerNode * count) {
    table_.assign(last + 1, kNone);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t& place = table_[nodes[i].node_id - first_id_];
      place = std::min(place, i);
    }
    return;
  }
  sorted_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    sorted_.emplace_back(nodes[i].node_id, i);
  }
  std::ranges::sort(sorted_);
}

std::optional<std::uint32_t> NodeIndex::Search(std::uint64_t node_id) const {
  const auto found =
      std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(node_id, std::uint32_t{0}));
  return found != sorted_.end() && found->first == node_id ? std::optional(found->second)
                                                           : std::nullopt;
}

}  // namespace reprise
