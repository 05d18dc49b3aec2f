// Which operation of one execution is which of another: by module path and order, then by shapes.
// Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/enum_names.h"
#include "report/operations/job_operations.h"

namespace reprise {

// What two aligned operations have in common, most first.
enum class AlignedBy : std::uint8_t {
  kAll,       // module path, caller, name and shapes
  kPlace,     // module path, caller and name; other shapes
  kShapes,    // name and shapes; another place
  kName,      // name and number of dimensions, within a range of others that align
  kWorkalike  // place and class: "aten::cudnn_convolution", "aten::miopen_convolution"
};
REPRISE_NAMES(AlignedBy, "all", "place", "shapes", "name", "workalike");
inline constexpr int kAlignedBys = kNamesOf<AlignedBy>.size();

struct AlignedPair {
  std::uint32_t a = 0, b = 0;  // indices into the two lists
  AlignedBy by = AlignedBy::kAll;
};

// Of two sequences in order: pairs ascend in both, so none cross. What is in no pair has no
// counterpart. The longest common subsequence by everything; between its pairs the longest by
// place, and so on. Where sequences differ by thousands of operations the result may be shorter
// than the longest (memory and time stay linear).
[[nodiscard]] std::vector<AlignedPair> AlignSequences(std::span<const TimedOperation> a,
                                                      std::span<const TimedOperation> b);

// All operations of two ranks in the steps that both have: step by step, threads paired by what
// they run (numbers differ between executions). Ascending by `a`.
[[nodiscard]] std::vector<AlignedPair> AlignRanks(const RankOperations& a, const RankOperations& b);

// The longest common subsequence of two sequences of keys, as pairs of positions. Myers, "An O(ND)
// difference algorithm and its variations", Algorithmica 1 (1986).
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> CommonSubsequence(
    std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

}  // namespace reprise
