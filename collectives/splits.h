// Splits that follow from what other members say.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/comm.h"

namespace reprise {

// all_gather, gather (own share is in, the list out_splits), reduce_scatter, scatter (the other way
// round).
[[nodiscard]] bool HasShares(CommKind kind);
// Of such a kind: this rank's own share, in elements, and the list that it may or may not have.
[[nodiscard]] std::int64_t ShareOf(const CommSpec& spec);
[[nodiscard]] std::vector<std::int64_t>& ShareSplits(CommSpec& spec);
[[nodiscard]] const std::vector<std::int64_t>& ShareSplits(const CommSpec& spec);

[[nodiscard]] bool HasSplits(const CommSpec& spec);
// Of an all_to_all where some member has splits: even ones as lists, where the sizes allow it.
void ListEvenSplits(CommSpec& spec, std::size_t group_size);

}  // namespace reprise
