#include "converters/pytorch/groups/rank_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>

namespace reprise::pytorch {
namespace {

// No job has more; a damaged number must not take all memory.
constexpr std::int64_t kMostMembers = 1 << 20;

class RankGroups {
 public:
  RankGroups(std::int32_t world_size, RankCapture& rank) : world_size_(world_size), rank_(rank) {}

  void Settle() {
    AddListed();
    for (const TransferRecord& transfer : rank_.transfers) {
      if (transfer.NamesGroup()) {
        AddNamed(transfer.arguments.said);
      }
    }
    const bool unnamed = std::ranges::any_of(
        rank_.transfers, [](const TransferRecord& transfer) { return !transfer.NamesGroup(); });
    if (rank_.groups.empty() && unnamed) {  // captures of 2023
      rank_.groups.push_back({.name = "0", .description = "default_pg", .all = true});
      assumed_ = true;
    }
    for (GroupRecord& group : rank_.groups) {
      FillMembers(group);
    }
  }

 private:
  // The host trace's list is in order of creation; Kineto's names all ranks.
  void AddListed() {
    rank_.groups = rank_.host.groups.empty() ? rank_.kineto.groups : rank_.host.groups;
    for (GroupRecord& group : rank_.groups) {
      for (const GroupRecord& other : rank_.kineto.groups) {
        if (other.name == group.name && other.description == group.description) {
          group.ranks = group.ranks.empty() ? other.ranks : group.ranks;
          group.size = group.size < 0 ? other.size : group.size;
        }
      }
    }
  }

  void AddNamed(const CommAttributes& said) {
    auto known = std::ranges::find(rank_.groups, said.group_name, &GroupRecord::name);
    if (known == rank_.groups.end()) {
      rank_.groups.push_back({.name = said.group_name, .description = said.group_description});
      known = rank_.groups.end() - 1;
    }
    GroupRecord& group = *known;
    if (said.group_size && group.size < 0 && *said.group_size > 0 &&
        *said.group_size <= kMostMembers) {
      group.size = static_cast<std::int32_t>(*said.group_size);
    }
    if (said.rank_start && said.rank_stride) {
      evenly_.try_emplace(said.group_name, *said.rank_start, *said.rank_stride);
    }
    if (said.ranks.empty()) {
      return;
    }
    const std::vector<std::int32_t> ranks(said.ranks.begin(), said.ranks.end());
    if (group.ranks.empty()) {
      group.ranks = ranks;
    } else if (group.ranks != ranks && differ_.insert(group.name).second) {
      rank_.diagnostics.Count(
          "group_members_differ",
          fmt::format("{}: group {}: [{}] against [{}]", rank_.label, group.name,
                      fmt::join(group.ranks, ", "), fmt::join(ranks, ", ")));
    }
  }

  void FillMembers(GroupRecord& group) {
    if (group.ranks.empty()) {
      group.ranks = EvenlyPlaced(group);
    }
    const bool all = group.all || group.description == "default_pg" || group.size == world_size_;
    const bool counted = rank_.world_size > 0 || assumed_;
    const std::int64_t ranks = group.size > 0 ? group.size : counted ? world_size_ : 0;
    if (group.ranks.empty() && all && ranks >= world_size_ && rank_.rank < ranks) {
      group.ranks.resize(static_cast<std::size_t>(ranks));
      std::iota(group.ranks.begin(), group.ranks.end(), 0);
    }
    const bool fits = std::ranges::none_of(group.ranks, [](std::int32_t rank) { return rank < 0; });
    if (group.ranks.empty() || !fits) {
      group.ranks.clear();
      rank_.diagnostics.Count(
          "group_members_unknown",
          fmt::format("{}: group {} ({}){}", rank_.label, group.name, group.description,
                      group.size > 0 ? fmt::format(" of {} ranks", group.size) : ""));
    }
  }

  // Empty: not recorded, not evenly, or not of this rank.
  [[nodiscard]] std::vector<std::int32_t> EvenlyPlaced(const GroupRecord& group) const {
    const auto found = evenly_.find(group.name);
    if (found == evenly_.end() || group.size < 1) {
      return {};
    }
    const auto [start, stride] = found->second;
    const bool rises = stride > 0 || group.size == 1;
    if (start < 0 || start >= kMostMembers || !rises || stride >= kMostMembers) {
      return {};
    }
    std::vector<std::int32_t> ranks;
    bool mine = false;
    for (std::int64_t i = 0; i < group.size; ++i) {
      const std::int64_t member = start + i * stride;
      if (member >= kMostMembers) {
        return {};
      }
      mine = mine || member == rank_.rank;
      ranks.push_back(static_cast<std::int32_t>(member));
    }
    return mine ? ranks : std::vector<std::int32_t>();
  }

  std::int32_t world_size_;
  RankCapture& rank_;
  bool assumed_ = false;  // no record names any group
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> evenly_;  // by name: start, stride
  std::set<std::string> differ_;
};

}  // namespace

void ListCommunicators(std::span<RankCapture> ranks, Diagnostics& diagnostics) {
  struct Use {
    std::set<std::int64_t> ranks;
    std::optional<std::int64_t> size;
    bool listed = false;
  };
  std::map<std::string, Use> uses;
  const auto visit = [&ranks](const auto& each) {
    for (RankCapture& rank : ranks) {
      for (TransferRecord& transfer : rank.transfers) {
        if (transfer.arguments.said.group_name.starts_with(kCommunicatorPrefix)) {
          each(rank.rank, transfer.arguments);
        }
      }
    }
  };
  visit([&uses](std::int32_t rank, const CommArguments& arguments) {
    const CommAttributes& said = arguments.said;
    Use& use = uses[said.group_name];
    use.ranks.insert(rank);
    use.size = use.size ? use.size : said.group_size;
    use.listed = use.listed || !said.ranks.empty();
  });
  std::erase_if(uses, [](const auto& one) {
    const auto& [ranks_of, size, listed] = one.second;
    return listed || ranks_of.size() < 2 || (size && *size != std::ssize(ranks_of));
  });
  for (const auto& [name, use] : uses) {
    diagnostics.Count("group_members_by_use",
                      fmt::format("{}: [{}]", name, fmt::join(use.ranks, ", ")));
  }
  visit([&uses](std::int32_t /*rank*/, CommArguments& arguments) {
    CommAttributes& said = arguments.said;
    if (const auto use = uses.find(said.group_name); use != uses.end()) {
      said.ranks.assign(use->second.ranks.begin(), use->second.ranks.end());
      said.group_size = std::ssize(said.ranks);
      SettleSizes(arguments);
    }
  });
}

void SettleGroups(std::int32_t world_size, RankCapture& rank) {
  RankGroups(world_size, rank).Settle();
}

}  // namespace reprise::pytorch
