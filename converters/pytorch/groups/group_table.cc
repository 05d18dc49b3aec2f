#include "converters/pytorch/groups/group_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "converters/pytorch/groups/group_inference.h"
#include "converters/pytorch/groups/rank_groups.h"

namespace reprise::pytorch {
namespace {

// Of 31 bits, and not 0: simulators read ids as such numbers (FNV-1a, Fowler, Noll and Vo).
std::uint32_t PositiveHash(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return std::max(hash & 0x7fffffffU, 1U);
}

// Everything that depends on the group once it is known.
void Settle(RankCapture& rank, TransferRecord& transfer, const ProcessGroup* group,
            GroupCertainty certainty) {
  CommArguments& arguments = transfer.arguments;
  arguments.spec.certainty = certainty;
  arguments.spec.peer = arguments.peer;
  if (group == nullptr) {
    return;
  }
  arguments.spec.group = group->id;
  const auto global = [&](std::int32_t in_group) {
    return in_group >= 0 && static_cast<std::size_t>(in_group) < group->ranks.size()
               ? group->ranks[static_cast<std::size_t>(in_group)]
               : -1;
  };
  arguments.spec.root = global(arguments.group_root);
  if (arguments.spec.peer < 0) {
    arguments.spec.peer = global(arguments.group_peer);
  }
  if (arguments.spec.root >= 0) {
    SettleRoot(arguments.spec.root == rank.rank, arguments);
  }
}

// A rank alone, whose files do not say how many there are: its groups do.
void StateWorldSize(RankCapture& rank) {
  std::int32_t highest = rank.rank;
  for (const GroupRecord& group : rank.groups) {
    for (const std::int32_t member : group.ranks) {
      highest = std::max(highest, member);
    }
  }
  if (rank.world_size < 0 && highest > rank.rank) {
    rank.world_size = highest + 1;
  }
}

void AssignIndices(RankCapture& rank) {
  std::map<SequenceKey, std::int64_t> next;
  for (TransferRecord& transfer : rank.transfers) {
    CommSpec& spec = transfer.arguments.spec;
    spec.index = next[SequenceOf(spec, rank.rank)]++;
  }
}

void Infer(std::span<RankCapture> ranks, const GroupTable& table, Diagnostics& diagnostics) {
  std::vector<InferenceTransfer> unnamed;
  std::vector<std::pair<RankCapture*, TransferRecord*>> owners;
  for (RankCapture& rank : ranks) {
    for (TransferRecord& transfer : rank.transfers) {
      if (transfer.NamesGroup()) {
        continue;
      }
      if (LacksKindOrSize(transfer.arguments.spec)) {  // it could be any group's
        Settle(rank, transfer, nullptr, GroupCertainty::kUnknown);
      } else {
        unnamed.push_back({.rank = rank.rank,
                           .worker = transfer.worker,
                           .start_ns = transfer.start_ns,
                           .end_ns = transfer.end_ns,
                           .arguments = &transfer.arguments});
        owners.emplace_back(&rank, &transfer);
      }
    }
  }
  if (unnamed.empty()) {
    return;
  }
  // Twins are left out: whichever of them it was, ranks and order are the same.
  std::vector<ProcessGroup> candidates;
  std::vector<std::size_t> twins;
  const auto& groups = table.groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const int first = table.FirstTwin(static_cast<int>(i));
    if (first == static_cast<int>(i)) {
      candidates.push_back(groups[i]);
      twins.push_back(0);
    } else {
      const auto at = std::find_if(candidates.begin(), candidates.end(), [&](const auto& group) {
        return group.id == groups[static_cast<std::size_t>(first)].id;
      });
      ++twins[static_cast<std::size_t>(at - candidates.begin())];
    }
  }
  std::vector<std::int32_t> captured;
  for (const RankCapture& rank : ranks) {
    captured.push_back(rank.rank);
  }
  const std::vector<int> chosen = InferGroups(unnamed, candidates, twins, captured);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    auto& [rank, transfer] = owners[i];
    if (chosen[i] < 0) {
      Settle(*rank, *transfer, nullptr, GroupCertainty::kUnknown);
      diagnostics.Count("group_unknown", fmt::format("{}: {} of {} bytes", rank->label,
                                                     Name(transfer->arguments.spec.kind),
                                                     transfer->arguments.spec.in_bytes));
      continue;
    }
    const auto group = static_cast<std::size_t>(chosen[i]);
    Settle(*rank, *transfer, &candidates[group], GroupCertainty::kInferred);
    diagnostics.Count("group_inferred");
    if (twins[group] > 0) {
      diagnostics.Count("group_twins", fmt::format("several groups have the ranks of group {}",
                                                   candidates[group].id));
    }
  }
}

}  // namespace

std::int32_t WorldSizeOf(std::span<const RankCapture> ranks) {
  auto world_size = static_cast<std::int32_t>(ranks.size());
  for (const RankCapture& rank : ranks) {
    world_size = std::max(world_size, rank.world_size);
  }
  return world_size;
}

GroupTable::GroupTable(std::span<const RankCapture> ranks)
    : world_size_(static_cast<std::size_t>(WorldSizeOf(ranks))) {
  for (const RankCapture& rank : ranks) {
    for (const GroupRecord& group : rank.groups) {
      if (!group.ranks.empty()) {
        Add(rank.rank, group.name, group.description, group.ranks);
      }
    }
  }
}

int GroupTable::Find(std::int32_t rank, const std::string& name) const {
  const auto it = by_name_.find({rank, name});
  return it == by_name_.end() ? -1 : it->second;
}

int GroupTable::Add(std::int32_t rank, const std::string& name, const std::string& description,
                    const std::vector<std::int32_t>& ranks) {
  if (const int known = Find(rank, name); known >= 0) {
    return known;
  }
  // The n-th of this rank's groups with these ranks and this description is the n-th on every rank.
  const auto same = [&](const ProcessGroup& group) {
    return group.ranks == ranks && group.description == description;
  };
  int mine = 0;
  for (const auto& [key, index] : by_name_) {
    mine += key.first == rank && same(groups_[static_cast<std::size_t>(index)]) ? 1 : 0;
  }
  int found = -1;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (same(groups_[i]) && mine-- == 0) {
      found = static_cast<int>(i);
      break;
    }
  }
  if (found < 0) {
    found = static_cast<int>(groups_.size());
    // Simulators take "0" for all ranks, whatever the file of groups says.
    const bool everybody = !has_world_ && ranks.size() == world_size_;
    has_world_ = has_world_ || everybody;
    const std::size_t number = everybody ? 0 : groups_.size() + (has_world_ ? 0 : 1);
    groups_.push_back({.id = std::to_string(number), .description = description, .ranks = ranks});
  }
  by_name_[{rank, name}] = found;
  return found;
}

int GroupTable::FirstTwin(int group) const {
  const auto& ranks = groups_[static_cast<std::size_t>(group)].ranks;
  const auto it = std::find_if(groups_.begin(), groups_.end(),
                               [&](const ProcessGroup& other) { return other.ranks == ranks; });
  return static_cast<int>(it - groups_.begin());
}

std::map<std::string, ProcessGroup> AssignGroups(std::span<RankCapture> ranks,
                                                 Diagnostics& diagnostics) {
  ListCommunicators(ranks, diagnostics);
  for (RankCapture& rank : ranks) {
    SettleGroups(WorldSizeOf(ranks), rank);
    StateWorldSize(rank);
  }
  const GroupTable table(ranks);
  for (RankCapture& rank : ranks) {
    for (TransferRecord& transfer : rank.transfers) {
      if (!transfer.NamesGroup()) {
        continue;
      }
      const int group = table.Find(rank.rank, transfer.arguments.said.group_name);
      if (group < 0) {
        Settle(rank, transfer, nullptr, GroupCertainty::kUnknown);
        diagnostics.Count("group_unknown", rank.NameOf(transfer));
        continue;
      }
      Settle(rank, transfer, &table.groups()[static_cast<std::size_t>(group)],
             GroupCertainty::kRecorded);
    }
  }
  Infer(ranks, table, diagnostics);
  std::map<std::string, ProcessGroup> out;
  for (const ProcessGroup& group : table.groups()) {
    out.emplace(group.id, group);
  }
  for (RankCapture& rank : ranks) {
    AssignIndices(rank);
  }
  return out;
}

void NameByContent(std::span<RankCapture> ranks, std::map<std::string, ProcessGroup>& groups) {
  std::map<std::string, int> equals;
  std::map<std::string, std::string> new_ids;
  std::map<std::string, ProcessGroup> renamed;
  std::vector<ProcessGroup*> by_creation;
  by_creation.reserve(groups.size());
  for (auto& [id, group] : groups) {
    by_creation.push_back(&group);
  }
  std::sort(by_creation.begin(), by_creation.end(),
            [](const auto* a, const auto* b) { return std::stoll(a->id) < std::stoll(b->id); });
  for (ProcessGroup* group : by_creation) {
    std::string content = fmt::format("{} {}", group->description, fmt::join(group->ranks, ","));
    content += fmt::format(" {}", equals[content]++);
    const std::string id = group->id == "0" ? group->id : std::to_string(PositiveHash(content));
    new_ids[group->id] = id;
    group->id = id;
    renamed.emplace(id, std::move(*group));
  }
  for (RankCapture& rank : ranks) {
    for (TransferRecord& transfer : rank.transfers) {
      std::string& id = transfer.arguments.spec.group;
      const auto known = new_ids.find(id);
      id = known == new_ids.end() ? id : known->second;
    }
  }
  groups = std::move(renamed);
}

}  // namespace reprise::pytorch
