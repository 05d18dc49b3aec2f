#include "converters/pytorch/groups/group_inference.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/timing/transfer.h"

namespace reprise::pytorch {
namespace {

using GroupSet = std::vector<bool>;  // by group index

// How far apart transfers may be that are one: first as on one clock; if nothing fits then, as on
// the clocks of different hosts.
constexpr std::int64_t kSlacksNs[] = {100'000, 5'000'000};
// Threads that gloo gives a group by default; twins (left out of the candidates) have their own.
constexpr std::size_t kWorkersOfGroup = 2;
constexpr int kSearchBudget = 5'000;  // assignments tried before giving up: unknown then

std::size_t Count(const GroupSet& set) {
  return static_cast<std::size_t>(std::count(set.begin(), set.end(), true));
}

std::int32_t Position(const ProcessGroup& group, std::int32_t rank) {
  const auto it = std::find(group.ranks.begin(), group.ranks.end(), rank);
  return it == group.ranks.end() ? -1 : static_cast<std::int32_t>(it - group.ranks.begin());
}

// Whether `a` can't end before `b` arrives.
bool Needs(const InferenceTransfer& a, const InferenceTransfer& b, const ProcessGroup& group) {
  const auto is_root = [&](const InferenceTransfer& t) {
    const CommArguments& arguments = *t.arguments;
    return arguments.spec.kind == CommKind::kSend ||
           (arguments.group_root >= 0 && arguments.group_root == Position(group, t.rank));
  };
  const ArrivalNeed need = LeastNeed(a.arguments->spec.kind, is_root(a));
  return need == ArrivalNeed::kAll || (need == ArrivalNeed::kRoot && is_root(b));
}

// Whether two members of `group` may mean the same transfer. Buffers that only the root has are
// not compared: before the group is known, so is the root.
bool Compatible(const InferenceTransfer& a, const InferenceTransfer& b, const ProcessGroup& group,
                std::int64_t slack_ns) {
  const CommSpec& x = a.arguments->spec;
  const CommSpec& y = b.arguments->spec;
  // Unsigned differences: they hold for any two times.
  const auto follows = [slack_ns](std::int64_t start_ns, std::int64_t end_ns) {
    return start_ns <= end_ns ||
           static_cast<std::uint64_t>(start_ns) - static_cast<std::uint64_t>(end_ns) <=
               static_cast<std::uint64_t>(slack_ns);
  };
  const bool in_time = (!Needs(a, b, group) || follows(b.start_ns, a.end_ns)) &&
                       (!Needs(b, a, group) || follows(a.start_ns, b.end_ns));
  if (x.dtype != y.dtype || !in_time) {
    return false;
  }
  const std::int32_t at_a = Position(group, a.rank);
  const std::int32_t at_b = Position(group, b.rank);
  if (IsPointToPoint(x.kind)) {
    return IsPointToPoint(y.kind) && x.kind != y.kind && a.arguments->group_peer == at_b &&
           b.arguments->group_peer == at_a &&
           std::max(x.in_bytes, x.out_bytes) == std::max(y.in_bytes, y.out_bytes);
  }
  if (x.kind != y.kind || a.arguments->group_root != b.arguments->group_root) {
    return false;
  }
  switch (x.kind) {
    case CommKind::kAllReduce:
    case CommKind::kBroadcast:
    case CommKind::kReduce:
    case CommKind::kGather:
    case CommKind::kReduceScatter:
      return x.in_bytes == y.in_bytes;
    case CommKind::kAllGather:
    case CommKind::kScatter:
      return x.out_bytes == y.out_bytes;
    case CommKind::kAllToAll:
      if (!x.in_splits.empty() && !y.out_splits.empty()) {
        return x.in_splits[static_cast<std::size_t>(at_b)] ==
               y.out_splits[static_cast<std::size_t>(at_a)];
      }
      return !x.in_splits.empty() || !y.in_splits.empty() || x.in_bytes == y.in_bytes;
    default:
      return true;
  }
}

bool MayBeIn(const InferenceTransfer& transfer, const ProcessGroup& group) {
  const CommArguments& arguments = *transfer.arguments;
  const auto size = static_cast<std::int32_t>(group.ranks.size());
  const std::int32_t mine = Position(group, transfer.rank);
  return mine >= 0 && arguments.group_root < size && arguments.group_peer < size &&
         arguments.group_peer != mine && (arguments.group_size < 0 || arguments.group_size == size);
}

// The unknowns: transfers that certainly share a group, by rank and thread, or by rank, direction
// and peer.
class Search {
 public:
  Search(std::span<const InferenceTransfer> transfers, std::span<const ProcessGroup> groups,
         std::span<const std::size_t> twins, std::span<const std::int32_t> captured)
      : transfers_(transfers), groups_(groups), twins_(twins), captured_(captured) {
    std::map<std::tuple<std::int32_t, std::int64_t, CommKind, std::int32_t>, std::size_t> units;
    for (const InferenceTransfer& t : transfers) {
      const bool p2p = IsPointToPoint(t.arguments->spec.kind);
      // Without a thread every transfer stands for itself.
      const std::int64_t worker = p2p             ? -1
                                  : t.worker >= 0 ? t.worker
                                                  : -2 - static_cast<std::int64_t>(unit_of_.size());
      const auto key =
          std::make_tuple(t.rank, worker, p2p ? t.arguments->spec.kind : CommKind::kAllReduce,
                          p2p ? t.arguments->group_peer : -1);
      const auto [unit, added] = units.try_emplace(key, units.size());
      if (added) {
        rank_of_unit_.push_back(t.rank);
        worker_of_unit_.push_back(worker);
      }
      unit_of_.push_back(unit->second);
    }
    unit_count_ = units.size();
  }

  std::vector<int> Run() {
    State start(unit_count_, GroupSet(groups_.size(), true));
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (!MayBeIn(transfers_[i], groups_[g])) {
          start[unit_of_[i]][g] = false;
        }
      }
    }
    for (const std::int64_t slack_ns : kSlacksNs) {
      slack_ns_ = slack_ns;
      budget_ = kSearchBudget;
      Explore(start);
      if (solutions_ > 0) {
        break;
      }
    }
    std::vector<int> out;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      const bool sure =
          solutions_ > 0 && budget_ > 0 && (Count(seen_[unit_of_[i]]) == 1 || SamePeerInAll(i));
      out.push_back(sure ? First(first_solution_[unit_of_[i]]) : -1);
    }
    return out;
  }

 private:
  using State = std::vector<GroupSet>;

  static int First(const GroupSet& set) {
    return static_cast<int>(std::find(set.begin(), set.end(), true) - set.begin());
  }

  // A send means the same in every group that gives its peer's number to one and the same rank.
  [[nodiscard]] bool SamePeerInAll(std::size_t i) const {
    const CommArguments& arguments = *transfers_[i].arguments;
    if (!IsPointToPoint(arguments.spec.kind) || arguments.group_peer < 0) {
      return false;
    }
    std::int32_t peer = -1;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (seen_[unit_of_[i]][g]) {
        const std::int32_t here = groups_[g].ranks[static_cast<std::size_t>(arguments.group_peer)];
        if (peer >= 0 && here != peer) {
          return false;
        }
        peer = here;
      }
    }
    return peer >= 0;
  }

  // A unit can be in a group only if each of its transfers has a counterpart on every member.
  [[nodiscard]] bool Supported(const State& state, std::size_t i, std::size_t g) const {
    const InferenceTransfer& mine = transfers_[i];
    const ProcessGroup& group = groups_[g];
    const bool p2p = IsPointToPoint(mine.arguments->spec.kind);
    for (std::size_t m = 0; m < group.ranks.size(); ++m) {
      if (group.ranks[m] == mine.rank || !IsCaptured(group.ranks[m]) ||
          (p2p && static_cast<std::int32_t>(m) != mine.arguments->group_peer)) {
        continue;
      }
      bool found = false;
      const auto [begin, end] = RangeOf(group.ranks[m]);
      for (std::size_t j = begin; j < end && !found; ++j) {
        found = state[unit_of_[j]][g] && Compatible(mine, transfers_[j], group, slack_ns_);
      }
      if (!found) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool IsCaptured(std::int32_t rank) const {
    return std::find(captured_.begin(), captured_.end(), rank) != captured_.end();
  }

  [[nodiscard]] std::pair<std::size_t, std::size_t> RangeOf(std::int32_t rank) const {
    const auto less = [](const InferenceTransfer& t, std::int32_t r) { return t.rank < r; };
    const auto begin = std::lower_bound(transfers_.begin(), transfers_.end(), rank, less);
    const auto end = std::lower_bound(transfers_.begin(), transfers_.end(), rank + 1, less);
    return {static_cast<std::size_t>(begin - transfers_.begin()),
            static_cast<std::size_t>(end - transfers_.begin())};
  }

  // Groups whose threads on a rank are all found leave no room for others.
  bool LimitWorkers(State& state) const {
    std::map<std::pair<std::int32_t, int>, std::size_t> decided;
    for (std::size_t u = 0; u < unit_count_; ++u) {
      if (worker_of_unit_[u] >= 0 && Count(state[u]) == 1) {
        ++decided[{rank_of_unit_[u], First(state[u])}];
      }
    }
    bool changed = false;
    for (std::size_t u = 0; u < unit_count_; ++u) {
      for (std::size_t g = 0; worker_of_unit_[u] >= 0 && g < groups_.size(); ++g) {
        const auto it = decided.find({rank_of_unit_[u], static_cast<int>(g)});
        if (state[u][g] && Count(state[u]) > 1 && it != decided.end() &&
            it->second >= kWorkersOfGroup * (1 + twins_[g])) {
          state[u][g] = false;
          changed = true;
        }
      }
    }
    return changed;
  }

  // Removes what nothing supports until all is supported; false if a unit has nothing left.
  bool Propagate(State& state) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < transfers_.size(); ++i) {
        GroupSet& set = state[unit_of_[i]];
        for (std::size_t g = 0; g < groups_.size(); ++g) {
          if (set[g] && !Supported(state, i, g)) {
            set[g] = false;
            changed = true;
          }
        }
        if (Count(set) == 0) {
          return false;
        }
      }
      changed = LimitWorkers(state) || changed;
    }
    return true;
  }

  // All units decided: the n-th transfers must agree, member by member.
  [[nodiscard]] bool SequencesAgree(const State& state) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      // (rank, send or recv, peer) → transfers in order; collectives under (rank, all_reduce, -1).
      std::map<std::tuple<std::int32_t, CommKind, std::int32_t>, std::vector<std::size_t>> of;
      for (std::size_t i = 0; i < transfers_.size(); ++i) {
        if (state[unit_of_[i]][g]) {
          const CommArguments& a = *transfers_[i].arguments;
          const bool p2p = IsPointToPoint(a.spec.kind);
          of[{transfers_[i].rank, p2p ? a.spec.kind : CommKind::kAllReduce,
              p2p ? a.group_peer : -1}]
              .push_back(i);
        }
      }
      for (const auto& [key, mine] : of) {
        if (!MembersAgree(of, key, mine, groups_[g])) {
          return false;
        }
      }
    }
    return true;
  }

  template <typename Map, typename Key>
  bool MembersAgree(const Map& of, const Key& key, const std::vector<std::size_t>& mine,
                    const ProcessGroup& group) const {
    const auto& [rank, kind, peer] = key;
    for (std::size_t m = 0; m < group.ranks.size(); ++m) {
      if (group.ranks[m] == rank || !IsCaptured(group.ranks[m]) ||
          (peer >= 0 && static_cast<std::int32_t>(m) != peer)) {
        continue;
      }
      const CommKind other_kind = kind == CommKind::kSend   ? CommKind::kRecv
                                  : kind == CommKind::kRecv ? CommKind::kSend
                                                            : kind;
      const auto it =
          of.find(Key{group.ranks[m], other_kind, peer >= 0 ? Position(group, rank) : -1});
      if (it == of.end() || it->second.size() != mine.size()) {
        return false;
      }
      for (std::size_t n = 0; n < mine.size(); ++n) {
        if (!Compatible(transfers_[mine[n]], transfers_[it->second[n]], group, slack_ns_)) {
          return false;
        }
      }
    }
    return true;
  }

  void Explore(State state) {
    if (budget_-- <= 0 || !Propagate(state)) {
      return;
    }
    std::optional<std::size_t> open;
    for (std::size_t u = 0; u < unit_count_; ++u) {
      if (Count(state[u]) > 1 && (!open || Count(state[u]) < Count(state[*open]))) {
        open = u;
      }
    }
    if (!open) {
      if (SequencesAgree(state)) {
        if (solutions_++ == 0) {
          seen_ = state;
          first_solution_ = state;
        }
        for (std::size_t u = 0; u < unit_count_; ++u) {
          for (std::size_t g = 0; g < groups_.size(); ++g) {
            seen_[u][g] = seen_[u][g] || state[u][g];
          }
        }
      }
      return;
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (state[*open][g]) {
        State next = state;
        next[*open].assign(groups_.size(), false);
        next[*open][g] = true;
        Explore(std::move(next));
      }
    }
  }

  std::span<const InferenceTransfer> transfers_;
  std::span<const ProcessGroup> groups_;
  std::span<const std::size_t> twins_;
  std::span<const std::int32_t> captured_;
  std::vector<std::size_t> unit_of_;  // by transfer
  std::size_t unit_count_ = 0;
  std::vector<std::int32_t> rank_of_unit_;
  std::vector<std::int64_t> worker_of_unit_;
  State seen_;            // groups that some solution gives a unit
  State first_solution_;  // one that fits as a whole
  std::int64_t slack_ns_ = 0;
  int solutions_ = 0;
  int budget_ = kSearchBudget;
};

}  // namespace

std::vector<int> InferGroups(std::span<const InferenceTransfer> transfers,
                             std::span<const ProcessGroup> groups,
                             std::span<const std::size_t> twins,
                             std::span<const std::int32_t> captured) {
  return Search(transfers, groups, twins, captured).Run();
}

}  // namespace reprise::pytorch
