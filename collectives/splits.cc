#include "collectives/splits.h"

#include <algorithm>

#include "collectives/communicator.h"
#include "collectives/sequences.h"

namespace reprise {
namespace {

using Members = std::vector<PlannedTransfer*>;  // of one collective, in group order

bool SharesAreIn(CommKind kind) {
  return kind == CommKind::kAllGather || kind == CommKind::kGather;
}

// From each member's own share; nothing if all shares are even.
void FillFromShares(const Members& members) {
  std::vector<std::int64_t> splits;
  bool uneven = false;
  for (const PlannedTransfer* member : members) {
    splits.push_back(ShareOf(member->spec));
    uneven = uneven || !ShareSplits(member->spec).empty() || splits.back() != splits.front();
  }
  for (PlannedTransfer* member : members) {
    if (uneven && ShareSplits(member->spec).empty()) {
      ShareSplits(member->spec) = splits;
    }
  }
}

void FillSplits(const Members& members) {
  const CommKind kind = members.front()->spec.kind;
  const bool same = std::ranges::all_of(
      members, [kind](const auto* member) { return member->spec.kind == kind; });
  if (!same) {
    return;  // a mismatch, which matching reports
  }
  if (HasShares(kind)) {
    FillFromShares(members);
  } else if (kind == CommKind::kAllToAll && std::ranges::any_of(members, [](const auto* member) {
               return HasSplits(member->spec);
             })) {
    for (PlannedTransfer* member : members) {
      ListEvenSplits(member->spec, members.size());
    }
  }
}

}  // namespace

bool HasShares(CommKind kind) {
  return SharesAreIn(kind) || kind == CommKind::kReduceScatter || kind == CommKind::kScatter;
}

std::int64_t ShareOf(const CommSpec& spec) {
  return (SharesAreIn(spec.kind) ? spec.in_bytes : spec.out_bytes) /
         std::max(1, SizeOf(spec.dtype));
}

std::vector<std::int64_t>& ShareSplits(CommSpec& spec) {
  return SharesAreIn(spec.kind) ? spec.out_splits : spec.in_splits;
}
const std::vector<std::int64_t>& ShareSplits(const CommSpec& spec) {
  return SharesAreIn(spec.kind) ? spec.out_splits : spec.in_splits;
}

bool HasSplits(const CommSpec& spec) { return !spec.in_splits.empty() || !spec.out_splits.empty(); }

void ListEvenSplits(CommSpec& spec, std::size_t group_size) {
  const auto size = static_cast<std::int64_t>(group_size);
  const std::int64_t unit = std::max(1, SizeOf(spec.dtype)) * size;
  const auto list = [&](std::vector<std::int64_t>& splits, std::int64_t bytes) {
    if (splits.empty() && bytes % unit == 0) {
      splits.assign(group_size, bytes / unit);
    }
  };
  list(spec.in_splits, spec.in_bytes);
  list(spec.out_splits, spec.out_bytes);
}

void CompleteSplits(std::vector<std::vector<PlannedTransfer>>& plans,
                    const RanksOfGroup& ranks_of_group) {
  const Sequences sequences(plans);
  for (const auto& [key, by_rank] : sequences.all()) {
    if (key.IsPointToPoint()) {
      continue;
    }
    const std::vector<std::int32_t> ranks = ranks_of_group(key.group);
    std::size_t length = ranks.empty() ? 0 : SIZE_MAX;
    for (const std::int32_t rank : ranks) {
      const auto it = by_rank.find(rank);
      length = std::min(length, it == by_rank.end() ? 0 : it->second.size());
    }
    for (std::size_t n = 0; n < length; ++n) {
      Members members;
      for (const std::int32_t rank : ranks) {
        const std::size_t position = by_rank.at(rank)[n];
        members.push_back(&plans[static_cast<std::size_t>(rank)][position]);
      }
      FillSplits(members);
    }
  }
}

}  // namespace reprise
