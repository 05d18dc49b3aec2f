#include "replayer/plan/group_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "collectives/matching/splits.h"

namespace reprise {
namespace {

using Plans = std::vector<std::vector<PlannedTransfer>>;
using Splits = std::vector<std::int64_t>;

std::int64_t ElementBytes(const CommSpec& spec) { return std::max(1, SizeOf(spec.dtype)); }

std::int64_t Sum(const Splits& splits) {
  return std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
}

// A whole that only one member has.
bool WholeOnRootOnly(CommKind kind) {
  return kind == CommKind::kGather || kind == CommKind::kScatter;
}

}  // namespace

// Lists say it, or a whole that is no multiple of the own block.
bool GroupFit::SaysUneven(const CommSpec& spec, bool root) const {
  if (mapping_.one_trace) {
    return false;
  }
  if (spec.kind == CommKind::kAllToAll) {
    return HasSplits(spec);
  }
  if (!HasShares(spec.kind)) {
    return false;
  }
  const Splits& splits = ShareSplits(spec);
  const bool listed =
      std::adjacent_find(splits.begin(), splits.end(), std::not_equal_to<>()) != splits.end();
  const std::int64_t whole = IsGathering(spec.kind) ? spec.out_bytes : spec.in_bytes;
  const bool has_whole = root || !WholeOnRootOnly(spec.kind);
  return listed || (has_whole && whole != ShareBytes(spec) * recorded_size());
}

void GroupFit::FitOwn(CommSpec& spec, bool root, bool uneven) const {
  if (HasShares(spec.kind)) {
    FitShare(spec, uneven);
  } else if (spec.kind == CommKind::kAllToAll) {
    FitAllToAll(spec, uneven);
  } else if (mapping_.one_trace && spec.kind == CommKind::kBroadcast) {
    // All were recorded in one role, the first is the root now.
    spec.in_bytes = spec.out_bytes = std::max(spec.in_bytes, spec.out_bytes);
  } else if (mapping_.one_trace && spec.kind == CommKind::kReduce) {
    spec.out_bytes = root ? spec.in_bytes : 0;
  }
}

void GroupFit::FitWhole(CommSpec& spec, bool root, std::int64_t whole_bytes) {
  if (HasShares(spec.kind)) {
    (IsGathering(spec.kind) ? spec.out_bytes : spec.in_bytes) =
        root || !WholeOnRootOnly(spec.kind) ? whole_bytes : 0;
  }
}

void GroupFit::FitShare(CommSpec& spec, bool uneven) const {
  if (uneven) {
    ShareSplits(spec) = Rows(ShareSplits(spec));
    return;
  }
  std::int64_t& own = IsGathering(spec.kind) ? spec.in_bytes : spec.out_bytes;
  const std::int64_t unit = ElementBytes(spec);
  const std::int64_t block = own / unit;
  own = (Scales() ? block : block * recorded_size() / size()) * unit;
  spec.in_splits.clear();
  spec.out_splits.clear();
}

void GroupFit::FitAllToAll(CommSpec& spec, bool uneven) const {
  const std::int64_t unit = ElementBytes(spec);
  const std::int64_t given = spec.in_bytes / unit;
  if (uneven) {
    spec.in_splits = Rows(Explicit(spec.in_splits, given));
    spec.out_splits = Rows(Explicit(spec.out_splits, spec.out_bytes / unit));
    spec.in_bytes = Sum(spec.in_splits) * unit;
    spec.out_bytes = Sum(spec.out_splits) * unit;
    return;
  }
  const std::int64_t block = given / (Scales() ? recorded_size() : size());
  spec.in_bytes = spec.out_bytes = block * size() * unit;
  spec.in_splits.clear();
  spec.out_splits.clear();
}

// Even splits as a list: other members may have uneven ones.
Splits GroupFit::Explicit(const Splits& splits, std::int64_t elements) const {
  return splits.empty() ? Splits(group_.recorded.size(), elements / recorded_size()) : splits;
}

// Entries of the members that are left, in the group's order.
Splits GroupFit::Rows(const Splits& recorded) const {
  Splits rows;
  for (std::size_t i = 0; i < std::min(recorded.size(), group_.recorded.size()); ++i) {
    if (mapping_.RunRankOf(group_.recorded[i]) >= 0) {
      rows.push_back(recorded[i]);
    }
  }
  return rows;
}

const MappedGroup* ChangedGroup(const RankMapping& mapping, const std::string& id) {
  const auto at = mapping.groups.find(id);
  if (at == mapping.groups.end()) {
    return nullptr;
  }
  const MappedGroup& group = at->second;
  return mapping.one_trace || group.ranks.size() != group.recorded.size() ? &group : nullptr;
}

namespace {

// One collective on all its members in the run, whose ranks are `ranks`.
void FitCollective(const GroupFit& fit, const std::vector<std::int32_t>& ranks,
                   const std::vector<PlannedTransfer*>& members, bool one_trace) {
  const CommSpec& first = members.front()->spec;
  const auto is_root = [&](std::size_t i) { return members[i]->spec.root == ranks[i]; };
  bool uneven = false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const CommSpec& spec = members[i]->spec;
    if (spec.kind != first.kind) {
      return;  // a mismatch, which matching reports
    }
    uneven = uneven || fit.SaysUneven(spec, is_root(i)) ||
             (!one_trace && HasShares(spec.kind) && ShareBytes(spec) != ShareBytes(first));
  }
  std::int64_t whole_bytes = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    fit.FitOwn(members[i]->spec, is_root(i), uneven);
    whole_bytes += ShareBytes(members[i]->spec);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    GroupFit::FitWhole(members[i]->spec, is_root(i), whole_bytes);
  }
}

}  // namespace

void FitSizes(Plans& plans, const RankMapping& mapping) {
  const RanksOfGroup changed_ranks = [&](const std::string& id) {
    const MappedGroup* group = ChangedGroup(mapping, id);
    return group == nullptr ? std::vector<std::int32_t>() : group->ranks;
  };
  ForEachCollective(plans, changed_ranks, [&](const std::vector<PlannedTransfer*>& members) {
    const MappedGroup& group = *ChangedGroup(mapping, members.front()->spec.group);
    FitCollective(GroupFit(mapping, group), group.ranks, members, mapping.one_trace);
  });
}

std::string OneSided(const std::string& group, CommKind kind, std::int64_t index, std::int32_t rank,
                     std::uint64_t node_id, std::int32_t lacks_rank) {
  return fmt::format(
      "group '{}': {} #{} is in what rank {} replays (node {}), but not in what rank {} replays: a "
      "partner would be waited for in vain. Choose steps or a range that hold both sides, or one "
      "rank alone (--ranks)",
      group, Name(kind), index, rank, node_id, lacks_rank);
}

Status CheckSameTransfers(const Plans& plans, const RankMapping& mapping) {
  for (const auto& [key, by_rank] : SequencesOf(plans)) {
    const std::vector<std::int32_t> members =
        key.IsPointToPoint() ? std::vector<std::int32_t>{key.source, key.destination}
                             : mapping.RanksOf(key.group);
    std::map<std::int64_t, std::map<std::int32_t, const PlannedTransfer*>> by_index;
    for (const auto& [rank, positions] : by_rank) {
      for (const std::size_t position : positions) {
        const PlannedTransfer& planned = plans[static_cast<std::size_t>(rank)][position];
        by_index[planned.spec.index][rank] = &planned;
      }
    }
    for (const auto& [index, there] : by_index) {
      for (const std::int32_t member : members) {
        if (!there.contains(member)) {
          const auto& [rank, planned] = *there.begin();
          return BadInput(
              OneSided(key.group, planned->spec.kind, index, rank, planned->node_id, member));
        }
      }
    }
  }
  return {};
}

}  // namespace reprise
