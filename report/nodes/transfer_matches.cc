// Which of the ranks' collectives are one transfer.
#include <algorithm>
#include <compare>
#include <map>
#include <string_view>

#include "report/nodes/class_members.h"
#include "report/nodes/transfers.h"

namespace reprise {
namespace {

// What the members of one transfer agree on, in the order of TransferMatches.
struct TransferKey {
  std::uint32_t group = 0;  // its place in alphabetical order
  std::int32_t point_to_point = 0;
  std::int32_t first = 0, second = 0;  // kind and −1, or source and destination
  std::int64_t index = 0;
  auto operator<=>(const TransferKey&) const = default;
};

// What a message goes from and to. Where ranks stand for classes, all of a class send alike:
// classes are matched, and the groups of one role.
std::string_view GroupOf(const CollectiveInfo& info, bool classes) {
  return classes && IsPointToPoint(info.spec.kind) && !info.role.empty() ? info.role
                                                                         : info.spec.group;
}

TransferKey KeyOf(const CommSpec& spec, std::uint32_t group, std::int32_t rank) {
  if (!IsPointToPoint(spec.kind)) {
    return {group, 0, static_cast<std::int32_t>(spec.kind), -1, spec.index};
  }
  const bool sends = spec.kind == CommKind::kSend;
  return {group, 1, sends ? rank : spec.peer, sends ? spec.peer : rank, spec.index};
}

std::map<std::string_view, std::uint32_t> NumberGroups(std::span<const MeasuredRank> ranks,
                                                       bool classes) {
  std::map<std::string_view, std::uint32_t> groups;
  for (const MeasuredRank& rank : ranks) {
    for (const CollectiveInfo& info : rank.data().collectives) {
      groups.try_emplace(GroupOf(info, classes));
    }
  }
  std::uint32_t number = 0;
  for (auto& [unused, at] : groups) {
    at = number++;
  }
  return groups;
}

}  // namespace

TransferMatches MatchTransfers(std::span<const MeasuredRank> ranks) {
  struct Entry {
    TransferKey key;
    MatchedMember member;
  };
  const ClassMembers classes(ranks);
  const auto groups = NumberGroups(ranks, classes.present());
  std::vector<Entry> entries;
  TransferMatches matches;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    const RankData& data = ranks[r].data();
    for (const CollectiveInfo& info : data.collectives) {
      if (const auto node = ranks[r].FindNode(info.node_id)) {
        CommSpec spec = info.spec;
        if (classes.present() && spec.peer >= 0) {
          spec.peer = static_cast<std::int32_t>(classes.PositionOf(spec.peer).value_or(r));
        }
        const std::int32_t rank = classes.present() ? static_cast<std::int32_t>(r) : data.rank;
        entries.push_back({KeyOf(spec, groups.at(GroupOf(info, classes.present())), rank),
                           {.rank = r, .node = *node, .info = &info}});
      }
    }
  }
  std::ranges::stable_sort(entries, {}, &Entry::key);
  matches.members.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].key != entries[i - 1].key) {
      matches.first.push_back(static_cast<std::uint32_t>(i));
    }
    matches.members.push_back(entries[i].member);
  }
  matches.first.push_back(static_cast<std::uint32_t>(entries.size()));
  return matches;
}

}  // namespace reprise
