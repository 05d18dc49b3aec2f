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

void LinkSharing::Count(std::uint32_t like, std::size_t level, std::int64_t domain) {
  if (domain < 0 || domain >= devices_) {
    ++leaving_beyond_[Key(like, level, domain)];
    return;
  }
  const auto at_least = [](auto& list, std::size_t size) -> auto& {
    list.resize(std::max(list.size(), size));
    return list[size - 1];
  };
  auto& of_level = at_least(at_least(leaving_, like + std::size_t{1}), level + 1);
  ++at_least(of_level, static_cast<std::size_t>(domain) + 1);
}

std::int64_t LinkSharing::Counted(std::uint32_t like, std::size_t level,
                                  std::int64_t domain) const {
  if (domain < 0 || domain >= devices_) {
    const auto found = leaving_beyond_.find(Key(like, level, domain));
    return found == leaving_beyond_.end() ? 0 : found->second;
  }
  const auto place = static_cast<std::size_t>(domain);
  return like < leaving_.size() && level < leaving_[like].size() &&
                 place < leaving_[like][level].size()
             ? leaving_[like][level][place]
             : 0;
}

void LinkSharing::Add(std::span<const std::int32_t> members, std::uint32_t like) {
  const std::size_t levels = network_.ShapeOf(members).levels.size();
  for (std::size_t level = 0; level < levels; ++level) {
    for (const std::int64_t domain : Domains(members, level, like)) {
      Count(like, level, domain);
    }
  }
}

GroupShape LinkSharing::ShapeOf(std::span<const std::int32_t> members, std::uint32_t like) const {
  GroupShape shape = network_.ShapeOf(members);
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    std::int64_t most = 1;
    for (const std::int64_t domain : Domains(members, level, like)) {
      most = std::max(most, Counted(like, level, domain));
    }
    shape.levels[level].sharers = static_cast<double>(most);
  }
  return shape;
}

}  // namespace reprise
