#include "converters/recorded_transfers/recorded_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/shown_text.h"
#include "core/text.h"

namespace reprise::recorded_transfers {
namespace {

using Ranks = std::vector<std::int32_t>;

class GroupAssignment {
 public:
  GroupAssignment(std::span<RecordedRank> ranks, bool all_ranks, Diagnostics& diagnostics)
      : ranks_(ranks), all_ranks_(all_ranks), diagnostics_(diagnostics) {
    world_.resize(static_cast<std::size_t>(WorldSizeOf(ranks)));
    std::iota(world_.begin(), world_.end(), 0);
  }

  Result<std::map<std::string, ProcessGroup>> Run() {
    REPRISE_TRY(CheckOneJob());
    FindUsers();
    for (RecordedRank& rank : ranks_) {
      std::vector<std::string> ids;  // by index of the rank's groups
      for (const RecordedGroup& group : rank.groups) {
        ids.push_back(Add(group));
      }
      for (RecordedTransfer& transfer : rank.transfers) {
        Assign(rank, ids, transfer);
      }
    }
    return groups_;
  }

 private:
  // Groups of one name have the same ranks, or none in common.
  Status CheckOneJob() const {
    struct Known {
      const RecordedRank* of = nullptr;
      const Ranks* ranks = nullptr;
    };
    std::map<std::string, std::vector<Known>> by_name;
    for (const RecordedRank& rank : ranks_) {
      for (const RecordedGroup& group : rank.groups) {
        // What it says of groups of others is not compared.
        std::vector<Known>& known = by_name[group.name];
        const bool member = std::ranges::find(group.ranks, rank.rank) != group.ranks.end();
        const bool same = std::ranges::any_of(
            known, [&](const Known& before) { return *before.ranks == group.ranks; });
        if (!member || same) {
          continue;
        }
        for (const Known& before : known) {
          if (HaveCommon(*before.ranks, group.ranks)) {
            return BadInput(fmt::format(
                "{} and {}: of two jobs: ranks of group {} are {} in the first and {} in the "
                "second; give the files of one job",
                before.of->path, rank.path, ShownText(group.name), NumbersText(*before.ranks),
                NumbersText(group.ranks)));
          }
        }
        known.push_back({&rank, &group.ranks});
      }
    }
    return {};
  }
  static bool HaveCommon(Ranks a, Ranks b) {
    std::ranges::sort(a);
    std::ranges::sort(b);
    Ranks common;
    std::ranges::set_intersection(a, b, std::back_inserter(common));
    return !common.empty();
  }

  // Of groups whose ranks no file lists.
  void FindUsers() {
    for (const RecordedRank& rank : ranks_) {
      for (const RecordedTransfer& transfer : rank.transfers) {
        if (transfer.group >= 0 && GroupOf(rank, transfer).ranks.empty()) {
          users_[GroupOf(rank, transfer).name].insert(rank.rank);
        }
      }
    }
  }
  static const RecordedGroup& GroupOf(const RecordedRank& rank, const RecordedTransfer& transfer) {
    return rank.groups[static_cast<std::size_t>(transfer.group)];
  }

  // Empty: its members are not known.
  std::string Add(const RecordedGroup& group) {
    Ranks ranks = group.ranks;
    if (ranks.empty()) {
      const auto used = users_.find(group.name);
      if (!all_ranks_ || used == users_.end()) {
        return {};
      }
      ranks.assign(used->second.begin(), used->second.end());
    }
    const auto [at, added] = ids_.try_emplace({group.name, ranks});
    if (added) {
      at->second = ranks == world_ && !groups_.contains("0") ? "0" : std::to_string(next_++);
      groups_[at->second] = {
          .id = at->second,
          .description = group.description.empty() ? group.name : group.description,
          .ranks = std::move(ranks)};
      if (group.ranks.empty()) {
        diagnostics_.Count("group_members_by_use", group.name);
      }
    }
    return at->second;
  }

  void Assign(RecordedRank& rank, const std::vector<std::string>& ids, RecordedTransfer& transfer) {
    CommSpec& spec = transfer.spec;
    const std::string id =
        transfer.group < 0 ? std::string() : ids[static_cast<std::size_t>(transfer.group)];
    const auto group = groups_.find(id);
    const bool member =
        group != groups_.end() &&
        std::ranges::find(group->second.ranks, rank.rank) != group->second.ranks.end();
    if (!member) {
      spec.group.clear();
      spec.certainty = GroupCertainty::kUnknown;
      spec.peer = spec.root = -1;
      rank.diagnostics.Count("group_unknown", fmt::format("{}: {}", rank.path, transfer.where));
      return;
    }
    const auto global = [&](std::int32_t in_group) {
      return in_group >= 0 && static_cast<std::size_t>(in_group) < group->second.ranks.size()
                 ? group->second.ranks[static_cast<std::size_t>(in_group)]
                 : -1;
    };
    spec.group = id;
    spec.certainty = GroupOf(rank, transfer).ranks.empty() ? GroupCertainty::kInferred
                                                           : GroupCertainty::kRecorded;
    spec.peer = global(spec.peer);
    spec.root = transfer.is_root ? rank.rank : -1;
  }

  std::span<RecordedRank> ranks_;
  bool all_ranks_;
  Diagnostics& diagnostics_;
  Ranks world_;
  std::map<std::string, std::set<std::int32_t>> users_;
  std::map<std::pair<std::string, Ranks>, std::string> ids_;
  std::map<std::string, ProcessGroup> groups_;
  std::int64_t next_ = 1;
};

}  // namespace

std::int32_t WorldSizeOf(std::span<const RecordedRank> ranks) {
  std::int32_t highest = 0;
  for (const RecordedRank& rank : ranks) {
    highest = std::max(highest, rank.rank);
    for (const RecordedGroup& group : rank.groups) {
      for (const std::int32_t member : group.ranks) {
        highest = std::max(highest, member);
      }
    }
  }
  return highest + 1;
}

Result<std::map<std::string, ProcessGroup>> AssignGroups(std::span<RecordedRank> ranks,
                                                         bool all_ranks, Diagnostics& diagnostics) {
  return GroupAssignment(ranks, all_ranks, diagnostics).Run();
}

}  // namespace reprise::recorded_transfers
