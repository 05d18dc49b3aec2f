#include "predict/simulator/link_sharing.h"

#include <algorithm>

namespace reprise {

// Those that the transfer leaves; of a pair only the sender's: each direction has bandwidth of its
// own.
std::vector<std::int64_t> LinkSharing::Domains(std::span<const std::int32_t> members,
                                               std::size_t level, std::uint32_t like) const {
  if (like == kPairs) {
    return {network_.DomainOf(members.front(), level)};
  }
  std::vector<std::int64_t> domains;
  domains.reserve(members.size());
  for (const std::int32_t member : members) {
    domains.push_back(network_.DomainOf(member, level));
  }
  if (!std::ranges::is_sorted(domains)) {
    std::ranges::sort(domains);
  }
  domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
  return domains;
}

void LinkSharing::Add(std::span<const std::int32_t> members, std::uint32_t like) {
  const std::size_t levels = network_.ShapeOf(members).levels.size();
  for (std::size_t level = 0; level < levels; ++level) {
    for (const std::int64_t domain : Domains(members, level, like)) {
      ++leaving_[Key(like, level, domain)];
    }
  }
}

GroupShape LinkSharing::ShapeOf(std::span<const std::int32_t> members, std::uint32_t like) const {
  GroupShape shape = network_.ShapeOf(members);
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    std::int64_t most = 1;
    for (const std::int64_t domain : Domains(members, level, like)) {
      const auto found = leaving_.find(Key(like, level, domain));
      most = std::max(most, found == leaving_.end() ? 1 : found->second);
    }
    shape.levels[level].sharers = static_cast<double>(most);
  }
  return shape;
}

}  // namespace reprise
