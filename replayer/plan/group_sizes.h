// Sizes of collectives whose group has other members than recorded (docs/parts.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/matching/group_rounds.h"
#include "collectives/matching/sequences.h"
#include "core/result.h"
#include "replayer/plan/rank_mapping.h"

namespace reprise {

// `plans[r]`: rank r's transfers after RewriteFor, sizes and splits still as recorded. Afterwards
// they are those of the run's groups, consistent on all members:
//   all_reduce, reduce, broadcast  as recorded
//   all_gather, gather, reduce_scatter, scatter, all_to_all
//     even, kScale    every member's block as recorded, the whole is members × block
//     even, kKeep     the whole as recorded, less what does not divide by the members
//     uneven          blocks of members that are gone are removed, under kKeep too
//   one trace         all members alike, the first is the root; an uneven all_to_all takes the mean
//                     of its blocks
// Groups with all their members keep everything.
void FitSizes(std::vector<std::vector<PlannedTransfer>>& plans, const RankMapping& mapping);

// Whether the ranks chose the same transfers: a part of a trace can hold one side of a transfer
// without the other. Bad input names the first such transfer of a sequence.
[[nodiscard]] Status CheckSameTransfers(const std::vector<std::vector<PlannedTransfer>>& plans,
                                        const RankMapping& mapping);

// Both across the ranks of a run, each with its own plan only: a few words for each collective of a
// group that changed, two words for any other (collectives/matching/match_across.h). Collective
// over all ranks, with the same outcome on all.
[[nodiscard]] Status FitSizesAcross(GroupRounds& rounds, const RankMapping& mapping,
                                    std::vector<PlannedTransfer>& mine);
[[nodiscard]] Status CheckSameTransfersAcross(GroupRounds& rounds,
                                              const std::vector<PlannedTransfer>& mine);

// The rules above for one member; what it needs of the others is in the arguments.
class GroupFit {
 public:
  GroupFit(const RankMapping& mapping, const MappedGroup& group)
      : mapping_(mapping), group_(group) {}

  // Whether this member alone shows that blocks are uneven; so do shares that differ.
  [[nodiscard]] bool SaysUneven(const CommSpec& spec, bool root) const;
  // The share, or the blocks of an all_to_all.
  void FitOwn(CommSpec& spec, bool root, bool uneven) const;
  // The whole, once every member's share is fitted: `whole_bytes` is their sum.
  static void FitWhole(CommSpec& spec, bool root, std::int64_t whole_bytes);

 private:
  using Splits = std::vector<std::int64_t>;

  void FitShare(CommSpec& spec, bool uneven) const;
  void FitAllToAll(CommSpec& spec, bool uneven) const;
  [[nodiscard]] std::int64_t recorded_size() const {
    return static_cast<std::int64_t>(group_.recorded.size());
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(group_.ranks.size()); }
  [[nodiscard]] bool Scales() const { return mapping_.sizes == GroupSizes::kScale; }
  [[nodiscard]] Splits Explicit(const Splits& splits, std::int64_t elements) const;
  [[nodiscard]] Splits Rows(const Splits& recorded) const;

  const RankMapping& mapping_;
  const MappedGroup& group_;
};
// Null: a group that keeps its sizes, or an unknown one.
[[nodiscard]] const MappedGroup* ChangedGroup(const RankMapping& mapping, const std::string& id);
// The message of CheckSameTransfers.
[[nodiscard]] std::string OneSided(const std::string& group, CommKind kind, std::int64_t index,
                                   std::int32_t rank, std::uint64_t node_id,
                                   std::int32_t lacks_rank);

}  // namespace reprise
