#include "collectives/matching/same_transfer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "collectives/layout.h"
#include "collectives/matching/fingerprint.h"
#include "collectives/matching/splits.h"

namespace reprise {
namespace {

template <typename T>
std::string Versus(std::string_view what, const T& a, const T& b) {
  return a == b ? std::string() : fmt::format("{} {} vs {}", what, a, b);
}

std::string SplitsVersus(std::string_view what, const std::vector<std::int64_t>& a,
                         const std::vector<std::int64_t>& b) {
  return a == b ? std::string()
                : fmt::format("{} [{}] vs [{}]", what, fmt::join(a, ", "), fmt::join(b, ", "));
}

// What `from` holds for `to`, against what `to` expects of it; elements.
std::string BlockVersus(const CommSpec& from, std::int32_t from_rank, const CommSpec& to,
                        std::int32_t to_rank, std::span<const std::int32_t> ranks) {
  const auto block = [&](const CommSpec& spec, bool in, std::int32_t other) {
    return BlockOf(spec, in, static_cast<std::size_t>(PositionOf(other, ranks)), ranks.size());
  };
  const std::int64_t held = block(from, true, to_rank);
  const std::int64_t expected = block(to, false, from_rank);
  return held == expected  // of every pair of a group: no text where none is needed
             ? std::string()
             : Versus(fmt::format("elements from rank {} to rank {}:", from_rank, to_rank), held,
                      expected);
}

std::string CompareAllToAll(const CommSpec& a, std::int32_t rank_a, const CommSpec& b,
                            std::int32_t rank_b, std::span<const std::int32_t> ranks) {
  const bool uneven_a = HasSplits(a);
  const bool uneven_b = HasSplits(b);
  if (uneven_a != uneven_b) {
    return fmt::format("{} vs {}", uneven_a ? "splits" : "no splits",
                       uneven_b ? "splits" : "no splits");
  }
  if (!uneven_a) {
    return Versus("in_bytes", a.in_bytes, b.in_bytes);
  }
  const std::string there = BlockVersus(a, rank_a, b, rank_b, ranks);
  return there.empty() ? BlockVersus(b, rank_b, a, rank_a, ranks) : there;
}

std::string CompareSizes(const CommSpec& a, std::int32_t rank_a, const CommSpec& b,
                         std::int32_t rank_b, std::span<const std::int32_t> ranks) {
  switch (a.kind) {
    case CommKind::kAllReduce:
    case CommKind::kReduce:
      return Versus("in_bytes", a.in_bytes, b.in_bytes);
    case CommKind::kBroadcast:
      return Versus("bytes", std::max(a.in_bytes, a.out_bytes), std::max(b.in_bytes, b.out_bytes));
    case CommKind::kAllGather:
    case CommKind::kGather:
    case CommKind::kScatter:
    case CommKind::kReduceScatter: {
      const bool gathers = IsGathering(a.kind);
      if (ShareSplits(a).empty() && ShareSplits(b).empty()) {
        return Versus(gathers ? "in_bytes" : "out_bytes", ShareBytes(a), ShareBytes(b));
      }
      return SplitsVersus(gathers ? "out_splits" : "in_splits", ShareSplits(a), ShareSplits(b));
    }
    case CommKind::kAllToAll:
      return CompareAllToAll(a, rank_a, b, rank_b, ranks);
    case CommKind::kSend:
      return Versus("bytes", a.in_bytes, b.out_bytes);
    case CommKind::kRecv:
      return Versus("bytes", a.out_bytes, b.in_bytes);
    case CommKind::kBarrier:
    case CommKind::kUnknown:
      break;
  }
  return {};
}

}  // namespace

std::string DifferenceBetween(const CommSpec& a, std::int32_t rank_a, const CommSpec& b,
                              std::int32_t rank_b, std::span<const std::int32_t> ranks) {
  if (!IsPointToPoint(a.kind) && a.kind != b.kind) {
    return fmt::format("{} vs {}", Name(a.kind), Name(b.kind));
  }
  if (a.kind == CommKind::kBarrier) {
    return {};
  }
  if (a.dtype != b.dtype) {
    return fmt::format("dtype {} vs {}", Name(a.dtype), Name(b.dtype));
  }
  if (HasRoot(a.kind) && a.root != b.root) {
    return Versus("root", a.root, b.root);
  }
  // c10d hides the operation of some calls; only recorded ones can contradict.
  if (IsReduction(a.kind) && a.op_recorded && b.op_recorded && a.op != b.op) {
    return fmt::format("op {} vs {}", Name(a.op), Name(b.op));
  }
  return CompareSizes(a, rank_a, b, rank_b, ranks);
}

}  // namespace reprise
