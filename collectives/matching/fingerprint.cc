#include "collectives/matching/fingerprint.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "collectives/layout.h"
#include "collectives/matching/splits.h"

namespace reprise {
namespace {

template <typename... Ints>
std::int64_t HashNumbers(Ints... numbers) {
  const std::array<std::int64_t, sizeof...(numbers)> words{static_cast<std::int64_t>(numbers)...};
  return HashOf(words);
}

// Sizes that are the same on every member, by same_transfer.h's rules.
std::int64_t ShapeOf(const CommSpec& spec) {
  if (HasShares(spec.kind)) {
    const std::vector<std::int64_t>& splits = ShareSplits(spec);
    return splits.empty() ? HashNumbers(0, ShareBytes(spec)) : HashNumbers(1, HashOf(splits));
  }
  switch (spec.kind) {
    case CommKind::kBroadcast:
      return std::max(spec.in_bytes, spec.out_bytes);
    case CommKind::kAllToAll:
      return HasSplits(spec) ? -1 : spec.in_bytes;
    case CommKind::kBarrier:
      return 0;
    default:
      return spec.in_bytes;
  }
}

}  // namespace

std::int64_t HashOf(std::span<const std::int64_t> words) {
  return static_cast<std::int64_t>(XXH3_64bits(words.data(), words.size_bytes()));
}

std::int64_t FingerprintOf(const CommSpec& spec) {
  const bool barrier = spec.kind == CommKind::kBarrier;
  return HashNumbers(spec.kind, barrier ? DType::kUnknown : spec.dtype,
                     HasRoot(spec.kind) ? spec.root : -1, ShapeOf(spec));
}

std::int64_t OperationOf(const CommSpec& spec) {
  return IsReduction(spec.kind) && spec.op_recorded ? static_cast<std::int64_t>(spec.op) + 1 : 0;
}

std::int64_t BlockOf(const CommSpec& spec, bool in, std::size_t position, std::size_t group_size) {
  const auto& splits = in ? spec.in_splits : spec.out_splits;
  if (!splits.empty()) {
    return position < splits.size() ? splits[position] : -1;
  }
  return (in ? spec.in_bytes : spec.out_bytes) / std::max(1, SizeOf(spec.dtype)) /
         static_cast<std::int64_t>(group_size);
}

std::int64_t ClaimsOf(const CommSpec& spec, std::size_t n, std::int32_t rank,
                      std::span<const std::int32_t> ranks) {
  std::int64_t claims = 0;
  if (spec.kind != CommKind::kAllToAll || !HasSplits(spec)) {
    return claims;
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    claims ^= HashNumbers(n, rank, ranks[i], BlockOf(spec, true, i, ranks.size()));
    claims ^= HashNumbers(n, ranks[i], rank, BlockOf(spec, false, i, ranks.size()));
  }
  return claims;
}

std::int64_t PairClaimOf(const CommSpec& spec, std::size_t n, std::int32_t source,
                         std::int32_t destination) {
  return HashNumbers(n, source, destination, spec.dtype,
                     spec.kind == CommKind::kSend ? spec.in_bytes : spec.out_bytes);
}

}  // namespace reprise
