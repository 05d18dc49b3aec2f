// Shares of the members, and the lists that say how large they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/comm.h"

namespace reprise {

// all_gather, gather (own share is in, the list out_splits), reduce_scatter, scatter (the other way
// round).
[[nodiscard]] constexpr bool HasShares(CommKind kind) {
  return IsGathering(kind) || IsScattering(kind);
}
// Of such a kind: this rank's own share, in bytes and in elements, and the list that it may or may
// not have.
[[nodiscard]] inline std::int64_t ShareBytes(const CommSpec& spec) {
  return IsGathering(spec.kind) ? spec.in_bytes : spec.out_bytes;
}
[[nodiscard]] inline std::int64_t ShareOf(const CommSpec& spec) {
  return ShareBytes(spec) / std::max(1, SizeOf(spec.dtype));
}
[[nodiscard]] inline const std::vector<std::int64_t>& ShareSplits(const CommSpec& spec) {
  return IsGathering(spec.kind) ? spec.out_splits : spec.in_splits;
}
[[nodiscard]] inline std::vector<std::int64_t>& ShareSplits(CommSpec& spec) {
  return IsGathering(spec.kind) ? spec.out_splits : spec.in_splits;
}

[[nodiscard]] inline bool HasSplits(const CommSpec& spec) {
  return !spec.in_splits.empty() || !spec.out_splits.empty();
}
// Of an all_to_all where some member has splits: even ones as lists, where the sizes allow it.
inline void ListEvenSplits(CommSpec& spec, std::size_t group_size) {
  const std::int64_t unit = std::max(1, SizeOf(spec.dtype)) * static_cast<std::int64_t>(group_size);
  const auto list = [&](std::vector<std::int64_t>& splits, std::int64_t bytes) {
    if (splits.empty() && bytes % unit == 0) {
      splits.assign(group_size, bytes / unit);
    }
  };
  list(spec.in_splits, spec.in_bytes);
  list(spec.out_splits, spec.out_bytes);
}

}  // namespace reprise
