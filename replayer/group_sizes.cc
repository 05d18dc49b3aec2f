#include "replayer/group_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "collectives/sequences.h"

namespace reprise {
namespace {

using Plans = std::vector<std::vector<PlannedTransfer>>;
using Splits = std::vector<std::int64_t>;

std::int64_t ElementBytes(const CommSpec& spec) { return std::max(1, SizeOf(spec.dtype)); }

std::int64_t Sum(const Splits& splits) {
  return std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
}

// all_gather, gather: own block in, whole out. reduce_scatter, scatter: the other way round.
bool Gathers(CommKind kind) { return kind == CommKind::kAllGather || kind == CommKind::kGather; }
bool Scatters(CommKind kind) {
  return kind == CommKind::kReduceScatter || kind == CommKind::kScatter;
}

// A whole that only one member has.
bool WholeOnRootOnly(CommKind kind) {
  return kind == CommKind::kGather || kind == CommKind::kScatter;
}

struct Member {
  CommSpec* spec;
  bool root;
};

// One collective on all its members in the run.
class Fit {
 public:
  Fit(const RankMapping& mapping, const MappedGroup& group, std::vector<Member> members)
      : mapping_(mapping), group_(group), members_(std::move(members)) {}

  void Run() {
    const CommKind kind = members_.front().spec->kind;
    const bool same = std::all_of(members_.begin(), members_.end(),
                                  [kind](const Member& m) { return m.spec->kind == kind; });
    if (!same) {
      return;  // a mismatch, which MatchTransfers tells
    }
    if (Gathers(kind) || Scatters(kind)) {
      FitBlocks(Gathers(kind));
    } else if (kind == CommKind::kAllToAll) {
      FitAllToAll();
    } else if (mapping_.one_trace) {
      SetRoles(kind);
    }
  }

 private:
  [[nodiscard]] std::int64_t recorded_size() const {
    return static_cast<std::int64_t>(group_.recorded.size());
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(members_.size()); }

  // All were recorded in one role, the first is the root now.
  void SetRoles(CommKind kind) {
    for (const auto& [spec, root] : members_) {
      if (kind == CommKind::kBroadcast) {
        spec->in_bytes = spec->out_bytes = std::max(spec->in_bytes, spec->out_bytes);
      } else if (kind == CommKind::kReduce) {
        spec->out_bytes = root ? spec->in_bytes : 0;
      }
    }
  }

  void FitBlocks(bool gathers) {
    const auto own = [gathers](CommSpec& spec) -> std::int64_t& {
      return gathers ? spec.in_bytes : spec.out_bytes;
    };
    const bool uneven = !mapping_.one_trace && HasUnevenBlocks(gathers);
    std::int64_t whole_bytes = 0;
    for (const auto& [spec, root] : members_) {
      if (uneven) {
        Splits& splits = gathers ? spec->out_splits : spec->in_splits;
        splits = Rows(splits);
      } else {
        const std::int64_t unit = ElementBytes(*spec);
        const std::int64_t block = own(*spec) / unit;
        own(*spec) = (Scales() ? block : block * recorded_size() / size()) * unit;
        spec->in_splits.clear();
        spec->out_splits.clear();
      }
      whole_bytes += own(*spec);
    }
    for (const auto& [spec, root] : members_) {
      (gathers ? spec->out_bytes : spec->in_bytes) =
          root || !WholeOnRootOnly(spec->kind) ? whole_bytes : 0;
    }
  }

  // Lists say it, or own blocks that differ, or a whole that is no multiple of them.
  [[nodiscard]] bool HasUnevenBlocks(bool gathers) const {
    const CommSpec& first = *members_.front().spec;
    return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      const CommSpec& spec = *member.spec;
      const Splits& splits = gathers ? spec.out_splits : spec.in_splits;
      const bool listed =
          std::adjacent_find(splits.begin(), splits.end(), std::not_equal_to<>()) != splits.end();
      const std::int64_t own = gathers ? spec.in_bytes : spec.out_bytes;
      const std::int64_t whole = gathers ? spec.out_bytes : spec.in_bytes;
      const bool has_whole = member.root || !WholeOnRootOnly(spec.kind);
      return listed || own != (gathers ? first.in_bytes : first.out_bytes) ||
             (has_whole && whole != own * recorded_size());
    });
  }

  void FitAllToAll() {
    const bool uneven =
        !mapping_.one_trace && std::any_of(members_.begin(), members_.end(), [](const Member& m) {
          return !m.spec->in_splits.empty() || !m.spec->out_splits.empty();
        });
    for (const auto& [spec, root] : members_) {
      const std::int64_t unit = ElementBytes(*spec);
      const std::int64_t given = spec->in_bytes / unit;
      if (uneven) {
        spec->in_splits = Rows(Explicit(spec->in_splits, given));
        spec->out_splits = Rows(Explicit(spec->out_splits, spec->out_bytes / unit));
        spec->in_bytes = Sum(spec->in_splits) * unit;
        spec->out_bytes = Sum(spec->out_splits) * unit;
      } else {
        const std::int64_t block = given / (Scales() ? recorded_size() : size());
        spec->in_bytes = spec->out_bytes = block * size() * unit;
        spec->in_splits.clear();
        spec->out_splits.clear();
      }
    }
  }

  [[nodiscard]] bool Scales() const { return mapping_.sizes == GroupSizes::kScale; }
  // Even splits as a list: other members may have uneven ones.
  [[nodiscard]] Splits Explicit(const Splits& splits, std::int64_t elements) const {
    return splits.empty() ? Splits(group_.recorded.size(), elements / recorded_size()) : splits;
  }
  // Entries of the members that are left, in the group's order.
  [[nodiscard]] Splits Rows(const Splits& recorded) const {
    Splits rows;
    for (std::size_t i = 0; i < std::min(recorded.size(), group_.recorded.size()); ++i) {
      if (std::find(mapping_.played.begin(), mapping_.played.end(), group_.recorded[i]) !=
          mapping_.played.end()) {
        rows.push_back(recorded[i]);
      }
    }
    return rows;
  }

  const RankMapping& mapping_;
  const MappedGroup& group_;
  std::vector<Member> members_;
};

}  // namespace

void FitSizes(Plans& plans, const RankMapping& mapping) {
  const Sequences sequences(plans);
  for (const auto& [key, by_rank] : sequences.all()) {
    const auto group = mapping.groups.find(key.group);
    if (key.IsPointToPoint() || group == mapping.groups.end() ||
        (!mapping.one_trace && group->second.ranks.size() == group->second.recorded.size())) {
      continue;
    }
    std::size_t length = SIZE_MAX;
    for (const std::int32_t rank : group->second.ranks) {
      const auto it = by_rank.find(rank);
      length = std::min(length, it == by_rank.end() ? 0 : it->second.size());
    }
    for (std::size_t n = 0; n < length; ++n) {
      std::vector<Member> members;
      for (const std::int32_t rank : group->second.ranks) {
        CommSpec& spec = plans[static_cast<std::size_t>(rank)][by_rank.at(rank)[n]].spec;
        members.push_back({&spec, spec.root == rank});
      }
      Fit(mapping, group->second, std::move(members)).Run();
    }
  }
}

Status CheckSameTransfers(const Plans& plans, const RankMapping& mapping) {
  const Sequences sequences(plans);
  for (const auto& [key, by_rank] : sequences.all()) {
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
          return BadInput(fmt::format(
              "group '{}': {} #{} is in what rank {} plays (node {}), but not in what rank {} "
              "plays: a partner would be waited for in vain. Choose steps or a range that hold "
              "both sides, or one rank alone (--ranks)",
              key.group, Name(planned->spec.kind), index, rank, planned->node_id, member));
        }
      }
    }
  }
  return {};
}

}  // namespace reprise
