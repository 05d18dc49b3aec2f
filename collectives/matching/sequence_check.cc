#include "collectives/matching/sequence_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/layout.h"
#include "collectives/matching/fingerprint.h"
#include "collectives/matching/same_transfer.h"

namespace reprise {
namespace {

// "rank 0 node 17 (all_reduce of 4096 bytes float32)"
std::string Show(std::int32_t rank, const PlannedTransfer& planned) {
  return fmt::format(
      "rank {} node {} ({} of {} bytes {})", rank, planned.node_id, Name(planned.spec.kind),
      std::max(planned.spec.in_bytes, planned.spec.out_bytes), Name(planned.spec.dtype));
}

std::string Where(const SequenceKey& key, std::size_t n) {
  return key.IsPointToPoint() ? fmt::format("group '{}', from rank {} to rank {}, transfer {}",
                                            key.group, key.source, key.destination, n)
                              : fmt::format("group '{}', collective {}", key.group, n);
}

// Where `other` has, later, what `member` has at n; 0: nowhere near.
std::size_t FoundLater(const SequenceMember& member, const SequenceMember& other, std::size_t n,
                       std::span<const std::int32_t> ranks) {
  const std::size_t end = std::min(other.part.length, n + kOrderLookAhead);
  for (std::size_t m = n + 1; m < end; ++m) {
    const PlannedTransfer* candidate = other.part.At(m);
    if (candidate != nullptr &&
        DifferenceBetween(member.part.At(n)->spec, member.rank, candidate->spec, other.rank, ranks)
            .empty()) {
      return m;
    }
  }
  return 0;
}

// Two transfers in the wrong order look like two mismatches; say which it is.
std::string OrderHint(std::size_t n, const SequenceMember& a, const SequenceMember& b,
                      std::span<const std::int32_t> ranks) {
  const std::size_t in_b = FoundLater(a, b, n, ranks);
  const std::size_t in_a = FoundLater(b, a, n, ranks);
  if (in_a != 0 && in_b != 0) {
    return fmt::format("; the order differs: each has the other's at {} and {}", in_b, in_a);
  }
  if (in_a != 0) {
    return fmt::format("; rank {} fits again from {} on: one too many there?", a.rank, in_a);
  }
  if (in_b != 0) {
    return fmt::format("; rank {} fits again from {} on: one too many there?", b.rank, in_b);
  }
  return {};
}

// One sequence with everything needed to judge it.
class SequenceCheck {
 public:
  SequenceCheck(const SequenceKey& key, const std::map<std::int32_t, MemberSequence>& parts,
                std::span<const std::int32_t> ranks, std::span<const std::int32_t> compared)
      : key_(key), ranks_(ranks) {
    static const MemberSequence none;
    const auto add = [&](std::int32_t rank) {
      const auto it = parts.find(rank);
      members_.push_back({rank, it == parts.end() ? none : it->second});
    };
    if (key.IsPointToPoint()) {
      add(key.source);
      add(key.destination);
    } else {
      std::ranges::for_each(compared, add);
    }
  }

  [[nodiscard]] std::optional<SequenceMismatch> Run() const {
    std::size_t longest = 0;
    for (const SequenceMember& member : members_) {
      longest = std::max(longest, member.part.length);
    }
    for (std::size_t n = 0; n < longest; ++n) {
      if (std::string what = CheckPosition(n); !what.empty()) {
        return WithRest(n, std::move(what), longest);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::string CheckPosition(std::size_t n) const {
    const auto has = [n](const SequenceMember& member) { return n < member.part.length; };
    const auto lacks = std::find_if_not(members_.begin(), members_.end(), has);
    if (lacks != members_.end()) {
      return MissingText(key_, n, *std::ranges::find_if(members_, has), lacks->rank,
                         lacks->part.length);
    }
    // Agreement of all with one is agreement of all pairs, except for blocks between pairs.
    const bool pairwise = members_.front().part.At(n)->spec.kind == CommKind::kAllToAll;
    for (std::size_t i = 0; i < (pairwise ? members_.size() : 1); ++i) {
      for (std::size_t j = pairwise ? i : i + 1; j < members_.size(); ++j) {
        std::string what = DifferenceText(key_, n, members_[i], members_[j], ranks_);
        if (!what.empty()) {
          return what;
        }
      }
    }
    return CheckOperations(n);
  }

  // Some ranks may not have recorded the operation: the first that has stands for the others.
  [[nodiscard]] std::string CheckOperations(std::size_t n) const {
    const auto recorded = std::ranges::find_if(
        members_, [n](const auto& member) { return OperationOf(member.part.At(n)->spec) != 0; });
    for (auto other = recorded; other != members_.end(); ++other) {
      std::string what = DifferenceText(key_, n, *recorded, *other, ranks_);
      if (!what.empty()) {
        return what;
      }
    }
    return CheckEach(n);
  }

  [[nodiscard]] std::string CheckEach(std::size_t n) const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      // All members are the group's ranks in order; some of them have to be looked up.
      const bool all = members_.size() == ranks_.size() && !key_.IsPointToPoint();
      const int rank = all ? static_cast<int>(i) : PositionOf(members_[i].rank, ranks_);
      std::string what =
          LayoutText(key_, n, *members_[i].part.At(n), {.ranks = ranks_, .rank = rank});
      if (!what.empty()) {
        return what;
      }
    }
    return {};
  }

  const SequenceKey& key_;
  std::span<const std::int32_t> ranks_;
  std::vector<SequenceMember> members_;
};

}  // namespace

std::string Misplaced(const SequenceKey& key, std::int32_t rank, const PlannedTransfer& first,
                      std::span<const std::int32_t> ranks, int world_size) {
  const auto beyond = [world_size](std::int32_t r) { return r < 0 || r >= world_size; };
  if (std::ranges::any_of(ranks, beyond)) {
    return fmt::format("group '{}' names ranks beyond the {} of this run", key.group, world_size);
  }
  if (ranks.empty()) {
    return fmt::format("group '{}' is unknown; node {} of rank {} uses it", key.group,
                       first.node_id, rank);
  }
  if (key.IsPointToPoint()) {
    const bool members =
        PositionOf(key.source, ranks) >= 0 && PositionOf(key.destination, ranks) >= 0;
    return members ? std::string()
                   : fmt::format(
                         "group '{}': node {} of rank {} goes from rank {} to rank {}, "
                         "which are not both members",
                         key.group, first.node_id, rank, key.source, key.destination);
  }
  return PositionOf(rank, ranks) >= 0
             ? std::string()
             : fmt::format("rank {} is not in group '{}' but node {} is its {}", rank, key.group,
                           first.node_id, Name(first.spec.kind));
}

std::string MissingText(const SequenceKey& key, std::size_t n, const SequenceMember& has,
                        std::int32_t lacks_rank, std::size_t lacks_length) {
  const std::string_view partner =
      !key.IsPointToPoint() ? "counterpart" : (lacks_rank == key.source ? "send" : "recv");
  return fmt::format("{}: {} has no {} on rank {}, which has {} of them", Where(key, n),
                     Show(has.rank, *has.part.At(n)), partner, lacks_rank, lacks_length);
}

std::string DifferenceText(const SequenceKey& key, std::size_t n, const SequenceMember& a,
                           const SequenceMember& b, std::span<const std::int32_t> ranks) {
  const PlannedTransfer& of_a = *a.part.At(n);
  const PlannedTransfer& of_b = *b.part.At(n);
  const std::string what = DifferenceBetween(of_a.spec, a.rank, of_b.spec, b.rank, ranks);
  return what.empty()
             ? what
             : fmt::format("{}: {}: {} against {}{}", Where(key, n), what, Show(a.rank, of_a),
                           Show(b.rank, of_b), OrderHint(n, a, b, ranks));
}

std::string LayoutText(const SequenceKey& key, std::size_t n, const PlannedTransfer& planned,
                       const GroupPlace& place) {
  const auto layout = LayoutOf(planned.spec, place);
  return layout ? std::string()
                : fmt::format("{}: {}: {}", Where(key, n),
                              Show(place.ranks[static_cast<std::size_t>(place.rank)], planned),
                              layout.error().message);
}

SequenceMismatch WithRest(std::size_t n, std::string text, std::size_t longest) {
  if (longest > n + 1) {
    text += fmt::format(" (the {} that follow in this sequence are not compared)", longest - n - 1);
  }
  return {n, std::move(text)};
}

std::optional<SequenceMismatch> CheckSequence(const SequenceKey& key,
                                              const std::map<std::int32_t, MemberSequence>& parts,
                                              std::span<const std::int32_t> ranks,
                                              std::span<const std::int32_t> compared) {
  return SequenceCheck(key, parts, ranks, compared).Run();
}

Status ReportMismatches(const std::vector<std::string>& texts, std::size_t mismatches) {
  if (mismatches == 0) {
    return {};
  }
  std::string message = "the ranks' transfers do not match:";
  constexpr std::size_t kMaxShown = 20;
  const std::size_t shown = std::min(texts.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) {
    message += "\n" + texts[i];
  }
  if (mismatches > shown) {
    message += fmt::format("\n… and {} more sequences that do not match", mismatches - shown);
  }
  return BadInput(message);
}

}  // namespace reprise
