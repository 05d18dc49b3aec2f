// What may be wrong within one sequence, in words: shared by the check of whole sets in one process
// (MatchTransfers) and by the one across ranks (MatchAcross), so that both say the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/matching/sequences.h"

namespace reprise {

// One rank's part of a sequence, or as much of it as is known.
struct MemberSequence {
  std::size_t length = 0;
  std::size_t first = 0;  // the position of known[0]
  std::vector<const PlannedTransfer*> known;

  // Null where it is not known, or not there.
  [[nodiscard]] const PlannedTransfer* At(std::size_t n) const {
    return n < first || n - first >= known.size() ? nullptr : known[n - first];
  }
};
struct SequenceMember {
  std::int32_t rank = 0;  // of the run
  const MemberSequence& part;
};

// How far ahead in the sequence the other's transfer is searched, to distinguish wrong order from
// wrong sizes.
inline constexpr std::size_t kOrderLookAhead = 1000;

struct SequenceMismatch {
  std::size_t position = 0;
  std::string text;
};

// Whether `rank` may use the sequence at all; `first` is its first transfer in it. Empty: it may.
[[nodiscard]] std::string Misplaced(const SequenceKey& key, std::int32_t rank,
                                    const PlannedTransfer& first,
                                    std::span<const std::int32_t> ranks, int world_size);
// `has` holds the n-th transfer, `lacks_rank` only `lacks_length` of them.
[[nodiscard]] std::string MissingText(const SequenceKey& key, std::size_t n,
                                      const SequenceMember& has, std::int32_t lacks_rank,
                                      std::size_t lacks_length);
// Both hold the n-th; empty if they fit.
[[nodiscard]] std::string DifferenceText(const SequenceKey& key, std::size_t n,
                                         const SequenceMember& a, const SequenceMember& b,
                                         std::span<const std::int32_t> ranks);
// Sizes, splits, root or peer that contradict each other on one rank; empty if they do not.
[[nodiscard]] std::string LayoutText(const SequenceKey& key, std::size_t n,
                                     const PlannedTransfer& planned, const GroupPlace& place);
// Adds how many positions of a sequence as long as `longest` were not looked at.
[[nodiscard]] SequenceMismatch WithRest(std::size_t n, std::string text, std::size_t longest);

// The first mismatch of a sequence whose members' parts are known completely. `ranks`: those of its
// group; `compared`: the members that are looked at.
[[nodiscard]] std::optional<SequenceMismatch> CheckSequence(
    const SequenceKey& key, const std::map<std::int32_t, MemberSequence>& parts,
    std::span<const std::int32_t> ranks, std::span<const std::int32_t> compared);

// "the ranks' transfers do not match:" and the first 20; `mismatches` counts all.
[[nodiscard]] Status ReportMismatches(const std::vector<std::string>& texts,
                                      std::size_t mismatches);

}  // namespace reprise
