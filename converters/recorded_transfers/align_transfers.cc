#include "converters/recorded_transfers/align_transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "converters/comm_sizes.h"
#include "converters/recorded_transfers/match_members.h"
#include "core/timing/clock_fit.h"
#include "core/timing/transfer.h"

namespace reprise::recorded_transfers {
namespace {

constexpr std::int64_t kNsInMinute = 60'000'000'000;
// No clocks of one job differ by that much, and no rank issues a transfer so long after others
// finished it.
constexpr std::int64_t kApartNs = 10 * kNsInMinute;

class Aligner {
 public:
  Aligner(std::span<RecordedRank> ranks, const std::map<std::string, ProcessGroup>& groups,
          const AlignOptions& options, Diagnostics& diagnostics)
      : ranks_(ranks),
        options_(options),
        diagnostics_(diagnostics),
        sequences_(MatchMembers(ranks, groups)) {}

  Result<ClockFit> Run() {
    for (MatchedSequence& sequence : sequences_) {
      for (MatchedTransfer& transfer : sequence.transfers) {
        Settle(sequence, transfer);
        REPRISE_TRY(CheckOneJob(transfer));
      }
    }
    REPRISE_TRY(FitRankClocks());
    for (const MatchedSequence& sequence : sequences_) {
      Place(sequence);
    }
    PlaceOthers();
    return std::move(clocks_);
  }

 private:
  [[nodiscard]] RecordedTransfer& At(const Part& part) const {
    return ranks_[part.rank].transfers[part.transfer];
  }
  [[nodiscard]] std::string NameOf(const Part& part) const {
    return fmt::format("{}: {}", ranks_[part.rank].path, At(part).where);
  }

  // What the members of one transfer say of each other.
  void Settle(const MatchedSequence& sequence, MatchedTransfer& transfer) {
    ShareRoot(transfer);
    const bool all = transfer.parts.size() == sequence.members;
    const std::string difference = all ? DifferenceIn(sequence, transfer) : std::string();
    transfer.whole = all && difference.empty() && sequence.members > 1;
    if (transfer.whole && UnevenExchange(transfer)) {
      diagnostics_.Count("transfer_parts_unequal", NameOf(transfer.parts.front()));
      Unmatch(transfer);
    } else if (!difference.empty() || (!all && options_.all_ranks && sequence.members > 1)) {
      const std::string name = NameOf(transfer.parts.front());
      if (all) {
        diagnostics_.Count("transfer_mismatch", fmt::format("{}: {}", name, difference));
      } else {
        diagnostics_.Count(
            "transfer_without_counterpart",
            fmt::format("{}: on {} of {} members", name, transfer.parts.size(), sequence.members));
      }
      Unmatch(transfer);
    } else if (transfer.whole && !sequence.key.IsPointToPoint()) {
      std::vector<CommSpec*> members;
      for (const Part& part : transfer.parts) {
        members.push_back(&At(part).spec);
      }
      if (members.front()->bytes_known) {
        ShareLargestBytes(members);
      }
    }
  }
  void Unmatch(MatchedTransfer& transfer) {
    transfer.whole = false;
    for (const Part& part : transfer.parts) {
      At(part).spec.unmatched = true;
    }
  }

  // Of gather and scatter, whose root alone has a tensor for each member.
  void ShareRoot(const MatchedTransfer& transfer) {
    const auto root = std::ranges::find_if(
        transfer.parts, [&](const Part& part) { return At(part).spec.root >= 0; });
    for (const Part& part : transfer.parts) {
      CommSpec& spec = At(part).spec;
      if (root != transfer.parts.end() && spec.root < 0 && HasRoot(spec.kind)) {
        spec.root = At(*root).spec.root;
      }
    }
  }

  // What differs between members; empty: they agree.
  [[nodiscard]] std::string DifferenceIn(const MatchedSequence& sequence,
                                         const MatchedTransfer& transfer) const {
    const Part& first = transfer.parts.front();
    for (const Part& part : transfer.parts) {
      const CommSpec& a = At(first).spec;
      const CommSpec& b = At(part).spec;
      const auto differs = [&](std::string_view what, const auto& of_a, const auto& of_b) {
        return fmt::format("{} {}, unlike {} of rank {}", what, of_a, of_b, ranks_[part.rank].rank);
      };
      const bool pair = sequence.key.IsPointToPoint();
      if (!pair && a.kind != b.kind) {
        return differs("kind", Name(a.kind), Name(b.kind));
      }
      if (!a.bytes_known || !b.bytes_known) {
        continue;
      }
      if (a.dtype != b.dtype) {
        return differs("type", Name(a.dtype), Name(b.dtype));
      }
      if (a.root != b.root) {
        return differs("root", a.root, b.root);
      }
      if (!Fits(b, static_cast<std::int64_t>(sequence.members))) {
        return fmt::format("{} bytes in, {} bytes out on rank {} of {}", b.in_bytes, b.out_bytes,
                           ranks_[part.rank].rank, sequence.members);
      }
      const std::int64_t of_a = std::max(a.in_bytes, a.out_bytes);
      const std::int64_t of_b = std::max(b.in_bytes, b.out_bytes);
      const bool same = pair || a.kind == CommKind::kAllReduce || a.kind == CommKind::kReduce ||
                        a.kind == CommKind::kBroadcast ||
                        (a.in_splits.empty() && a.out_splits.empty() &&
                         (a.kind == CommKind::kAllGather || a.kind == CommKind::kReduceScatter));
      if (same && of_a != of_b) {
        return differs("bytes", of_a, of_b);
      }
    }
    return {};
  }
  static bool Fits(const CommSpec& spec, std::int64_t members) {
    switch (spec.kind) {
      case CommKind::kAllReduce:
        return spec.in_bytes == spec.out_bytes;
      case CommKind::kAllGather:
        return !spec.out_splits.empty() ||
               (spec.out_bytes % members == 0 && spec.out_bytes / members == spec.in_bytes);
      case CommKind::kReduceScatter:
        return !spec.in_splits.empty() ||
               (spec.in_bytes % members == 0 && spec.in_bytes / members == spec.out_bytes);
      default:
        return true;
    }
  }
  // An all_to_all whose blocks are not all equal: which, recorders do not say.
  [[nodiscard]] bool UnevenExchange(const MatchedTransfer& transfer) const {
    const CommSpec& first = At(transfer.parts.front()).spec;
    return std::ranges::any_of(transfer.parts, [&](const Part& part) {
      const CommSpec& spec = At(part).spec;
      return spec.kind == CommKind::kAllToAll && spec.in_splits.empty() && spec.bytes_known &&
             (spec.in_bytes != first.in_bytes || spec.out_bytes != first.in_bytes ||
              spec.in_bytes % static_cast<std::int64_t>(transfer.parts.size()) != 0);
    });
  }

  Status CheckOneJob(const MatchedTransfer& transfer) const {
    for (const Part& done : transfer.parts) {
      const std::int64_t end_ns = At(done).spec.noticed_end_ns;
      for (const Part& other : transfer.parts) {
        const std::int64_t issued_ns = At(other).spec.issued_ns;
        if (transfer.whole && end_ns >= 0 && issued_ns - end_ns > kApartNs) {
          return BadInput(fmt::format(
              "{} and {}: of two jobs: the first had finished {} {} minutes before the second "
              "issued it; give the files of one job",
              ranks_[done.rank].path, ranks_[other.rank].path, At(done).where,
              (issued_ns - end_ns) / kNsInMinute));
        }
        if (&done != &transfer.parts.front()) {
          break;  // each with the first, and the first with each
        }
      }
    }
    return {};
  }

  // "What a rank noticed as ended, no member issued later."
  Status FitRankClocks() {
    std::int32_t highest = 0;
    for (const RecordedRank& rank : ranks_) {
      highest = std::max(highest, rank.rank);
    }
    std::vector<ClockConstraint> constraints;
    const auto add = [&](const Part& a, const Part& b) {
      const CommSpec& ended = At(a).spec;
      const CommSpec& issued = At(b).spec;
      if (ended.noticed_end_ns >= 0 && issued.issued_ns >= 0 && ended.kind != CommKind::kSend) {
        constraints.push_back({.rank_a = ranks_[a.rank].rank,
                               .end_ns_a = ended.noticed_end_ns,
                               .rank_b = ranks_[b.rank].rank,
                               .start_ns_b = issued.issued_ns});
      }
    };
    for (const MatchedSequence& sequence : sequences_) {
      for (const MatchedTransfer& transfer : sequence.transfers) {
        const ArrivalNeed need = LeastNeed(At(transfer.parts.front()).spec.kind, false);
        const bool pair = sequence.key.IsPointToPoint();
        for (std::size_t i = 1; transfer.whole && i < transfer.parts.size(); ++i) {
          if (pair || need == ArrivalNeed::kAll) {
            add(transfer.parts[i - 1], transfer.parts[i]);
            add(transfer.parts[i], transfer.parts[i - 1]);
          }
        }
      }
    }
    ClockFitOptions options;
    options.host_of_rank = HostOfRank(highest);
    REPRISE_ASSIGN(clocks_, FitClocks(highest + 1, constraints, options));
    return {};
  }
  // One number per host name; ranks without one may each have a clock of their own.
  [[nodiscard]] std::vector<std::int32_t> HostOfRank(std::int32_t highest) const {
    std::vector<std::int32_t> out(static_cast<std::size_t>(highest) + 1);
    std::iota(out.begin(), out.end(), highest + 1);
    std::map<std::string, std::int32_t> hosts;
    for (const RecordedRank& rank : ranks_) {
      if (!rank.host.empty()) {
        const auto number = static_cast<std::int32_t>(hosts.size());
        out[static_cast<std::size_t>(rank.rank)] =
            hosts.try_emplace(rank.host, number).first->second;
      }
    }
    return out;
  }

  [[nodiscard]] std::int64_t ToRank0(const Part& part, std::int64_t ns) const {
    return clocks_.ToRank0(ranks_[part.rank].rank, ns);
  }
  // The inverse; exact enough where drift is parts per million.
  [[nodiscard]] std::int64_t FromRank0(const Part& part, std::int64_t ns) const {
    return ns - (ToRank0(part, ns) - ns);
  }

  // When a member's part may begin at the earliest, on rank 0's clock.
  [[nodiscard]] std::int64_t EarliestOf(const Part& part, std::int64_t before_ns) const {
    const RecordedTransfer& transfer = At(part);
    const CommSpec& spec = transfer.spec;
    std::int64_t ns = before_ns;
    const std::int64_t begin_ns = std::max(spec.issued_ns, transfer.started_ns);
    if (begin_ns >= 0) {
      ns = std::max(ns, ToRank0(part, begin_ns));
    } else if (spec.noticed_end_ns >= 0) {
      ns = std::max(
          ns, ToRank0(part, spec.noticed_end_ns) - std::max<std::int64_t>(transfer.duration_ns, 0));
    }
    return ns;
  }

  void Place(const MatchedSequence& sequence) {
    std::map<std::size_t, std::int64_t> ended;  // by rank: on rank 0's clock
    std::int64_t index = 0;
    for (const MatchedTransfer& transfer : sequence.transfers) {
      std::int64_t end_ns = 0;
      bool timed = true;
      for (const Part& part : transfer.parts) {
        const std::int64_t earliest = EarliestOf(part, ended[part.rank]);
        At(part).start_ns = earliest;
        timed = timed && At(part).duration_ns >= 0;
        end_ns = std::max(end_ns, earliest + std::max<std::int64_t>(At(part).duration_ns, 0));
      }
      std::vector<TransferMember> members;
      for (const Part& part : transfer.parts) {
        RecordedTransfer& own = At(part);
        own.spec.index = index;
        if (transfer.whole && own.duration_ns >= 0) {
          own.start_ns = end_ns - own.duration_ns;
        }
        const std::int64_t own_end = own.start_ns + std::max<std::int64_t>(own.duration_ns, 0);
        members.push_back(
            {.start_ns = own.start_ns,
             .end_ns = own_end,
             .kind = own.spec.kind,
             .root = own.spec.kind == CommKind::kSend || own.spec.root == ranks_[part.rank].rank});
        ended[part.rank] = own_end;
        own.start_ns = FromRank0(part, own.start_ns);
      }
      if (transfer.whole && timed) {
        const std::vector<TransferPart> parts = SplitTransfer(members);
        for (std::size_t i = 0; i < parts.size(); ++i) {
          At(transfer.parts[i]).transfer_ns = std::max<std::int64_t>(0, parts[i].transfer_ns);
        }
      }
      ++index;
    }
  }

  // Those that are in no sequence.
  void PlaceOthers() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t i = 0; i < ranks_[r].transfers.size(); ++i) {
        RecordedTransfer& transfer = ranks_[r].transfers[i];
        if (transfer.start_ns == 0) {
          transfer.start_ns = FromRank0({r, i}, EarliestOf({r, i}, 0));
        }
      }
    }
  }

  std::span<RecordedRank> ranks_;
  const AlignOptions& options_;
  Diagnostics& diagnostics_;
  std::vector<MatchedSequence> sequences_;
  ClockFit clocks_;
};

}  // namespace

Result<ClockFit> AlignTransfers(std::span<RecordedRank> ranks,
                                const std::map<std::string, ProcessGroup>& groups,
                                const AlignOptions& options, Diagnostics& diagnostics) {
  return Aligner(ranks, groups, options, diagnostics).Run();
}

}  // namespace reprise::recorded_transfers
