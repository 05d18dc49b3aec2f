#include "converters/chakra/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "converters/comm_sizes.h"
#include "core/text.h"

namespace reprise::chakra {
namespace {

using Ranks = std::vector<std::int32_t>;

// Above 0, as simulators want it.
bool IsGroupNumber(const std::string& name) {
  const auto number = ParseNumber<std::int32_t>(name);
  return number && *number > 0 && name == std::to_string(*number);
}

class Table {
 public:
  explicit Table(std::int32_t world_size) : world_(static_cast<std::size_t>(world_size)) {
    std::iota(world_.begin(), world_.end(), 0);
  }

  [[nodiscard]] const Ranks& world() const { return world_; }
  [[nodiscard]] const std::map<std::string, ProcessGroup>& groups() const { return groups_; }

  // The group's id; the same for the same name and ranks.
  std::string Add(const std::string& name, const std::string& description, Ranks ranks) {
    std::erase_if(ranks, [&](std::int32_t rank) {
      return rank < 0 || static_cast<std::size_t>(rank) >= world_.size();
    });
    if (ranks.empty()) {
      ranks = world_;
    }
    const auto [it, fresh] = ids_.try_emplace({name, ranks});
    if (fresh) {
      it->second = NewId(name, ranks == world_);
      groups_[it->second] = {.id = it->second,
                             .description = !description.empty() ? description
                                            : it->second == name ? std::string()
                                                                 : name,
                             .ranks = ranks};
    }
    return it->second;
  }
  std::string World() { return groups_.contains("0") ? "0" : Add("0", "", world_); }

 private:
  std::string NewId(const std::string& name, bool everybody) {
    if (everybody && !groups_.contains("0") && (name == "0" || !IsGroupNumber(name))) {
      return "0";
    }
    if (IsGroupNumber(name) && !groups_.contains(name)) {
      return name;
    }
    std::int32_t number = 1;
    while (groups_.contains(std::to_string(number))) {
      ++number;
    }
    return std::to_string(number);
  }

  Ranks world_;
  std::map<std::pair<std::string, Ranks>, std::string> ids_;
  std::map<std::string, ProcessGroup> groups_;
};

class GroupAssigner {
 public:
  GroupAssigner(std::span<RankTrace> traces, const std::map<std::string, ProcessGroup>& given,
                std::int32_t world_size, Diagnostics& diagnostics)
      : traces_(traces), given_(given), table_(world_size), diagnostics_(diagnostics) {}

  std::map<std::string, ProcessGroup> Run() {
    // Numbers first, so that names do not take them.
    for (const bool numbers : {true, false}) {
      for (const auto& [name, group] : given_) {
        if ((name == "0" || IsGroupNumber(name)) == numbers) {
          table_.Add(name, group.description, group.ranks);
        }
      }
    }
    for (RankTrace& trace : traces_) {
      for (const GroupRecord& group : trace.groups) {
        const std::string id = table_.Add(group.name, group.description, group.ranks);
        by_name_.emplace(std::pair(trace.rank, group.name), id);
      }
      for (const Node& node : trace.nodes) {
        if (node.comm) {
          users_[node.comm->group].insert(trace.rank);
        }
      }
    }
    for (RankTrace& trace : traces_) {
      for (Node& node : trace.nodes) {
        if (node.comm) {
          Assign(trace, node);
        }
      }
    }
    return table_.groups();
  }

 private:
  void Assign(RankTrace& trace, Node& node) {
    CommSpec& spec = *node.comm;
    const std::string name = spec.group;
    spec.certainty = GroupCertainty::kRecorded;
    if (const auto known = by_name_.find({trace.rank, name}); known != by_name_.end()) {
      spec.group = known->second;
    } else if (const auto listed = given_.find(name); listed != given_.end()) {
      spec.group = table_.Add(name, listed->second.description, listed->second.ranks);
    } else if (name.empty() && trace.captured) {
      spec.group = table_.World();
      spec.certainty = GroupCertainty::kUnknown;
      Count("group_unknown", trace, node);
    } else if (name.empty() || name == "0") {
      spec.group = table_.World();
      if (name.empty()) {
        spec.certainty = GroupCertainty::kInferred;
        Count("group_of_all_assumed", trace, node);
      }
    } else {
      const std::set<std::int32_t>& users = users_.at(name);
      spec.group = table_.Add(name, "", {users.begin(), users.end()});
      spec.certainty = GroupCertainty::kInferred;
      Count("group_members_inferred", trace, node);
    }
    Settle(trace, node);
  }

  void Settle(const RankTrace& trace, Node& node) {
    const Ranks& ranks = table_.groups().at(node.comm->group).ranks;
    CommSpec& spec = *node.comm;
    const bool two_numbers = !IsPointToPoint(spec.kind) && spec.in_bytes != spec.out_bytes;
    if (!two_numbers) {
      CompleteSizes(static_cast<std::int64_t>(ranks.size()), Where(trace, node), spec,
                    diagnostics_);
    }
    SettleRoot(trace, ranks, node);
  }

  void SettleRoot(const RankTrace& trace, const Ranks& ranks, Node& node) {
    CommSpec& spec = *node.comm;
    const bool gives = spec.kind == CommKind::kBroadcast || spec.kind == CommKind::kScatter;
    const bool gets = spec.kind == CommKind::kReduce || spec.kind == CommKind::kGather;
    if (!gives && !gets) {
      return;
    }
    if (spec.root < 0) {
      spec.root = ranks.front();
      Count("root_assumed", trace, node);
    }
    if (spec.root != trace.rank) {
      (gives ? spec.in_bytes : spec.out_bytes) = 0;
    }
  }

  void Count(std::string_view name, const RankTrace& trace, const Node& node) {
    diagnostics_.Count(name, Where(trace, node));
  }
  static std::string Where(const RankTrace& trace, const Node& node) {
    return fmt::format("{}: node {} ({})", trace.path, node.id, node.name);
  }

  std::span<RankTrace> traces_;
  const std::map<std::string, ProcessGroup>& given_;
  Table table_;
  Diagnostics& diagnostics_;
  std::map<std::pair<std::int32_t, std::string>, std::string> by_name_;
  std::map<std::string, std::set<std::int32_t>> users_;
};

}  // namespace

std::map<std::string, ProcessGroup> AssignGroups(std::span<RankTrace> traces,
                                                 const std::map<std::string, ProcessGroup>& given,
                                                 std::int32_t world_size,
                                                 Diagnostics& diagnostics) {
  return GroupAssigner(traces, given, world_size, diagnostics).Run();
}

}  // namespace reprise::chakra
