#include "collectives/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "collectives/host_reduction.h"

namespace reprise {
namespace {

// Collects what is wrong, so that each rule below is one line. A text is made only where its rule
// does not hold: a transfer of 8 bytes takes less time than one text.
class Checker {
 public:
  Checker(const CommSpec& spec, const GroupPlace& place) : spec_(spec), place_(place) {}

  template <typename... Args>
  void Require(bool holds, fmt::format_string<Args...> what, Args&&... args) {
    if (!holds && wrong_.empty()) {
      wrong_ = fmt::format(what, std::forward<Args>(args)...);
    }
  }
  template <typename... Args>
  void RequireEqual(std::int64_t a, std::int64_t b, fmt::format_string<Args...> what,
                    Args&&... args) {
    if (a != b && wrong_.empty()) {
      wrong_ =
          fmt::format("{}: {} against {}", fmt::format(what, std::forward<Args>(args)...), a, b);
    }
  }
  [[nodiscard]] Status Outcome() const {
    if (wrong_.empty()) {
      return {};
    }
    return BadInput(
        fmt::format("{} on rank {}: {}", Describe(spec_), place_.ranks[place_.rank], wrong_));
  }

 private:
  const CommSpec& spec_;
  const GroupPlace& place_;
  std::string wrong_;
};

// Elements per member → bytes per member; the list must have one entry for each.
std::vector<std::int64_t> Blocks(const std::vector<std::int64_t>& splits, const GroupPlace& place,
                                 int element_bytes, std::string_view name, Checker& checker) {
  checker.RequireEqual(static_cast<std::int64_t>(splits.size()), place.size(),
                       "{}: entries against ranks in the group", name);
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(place.size()), 0);
  for (std::size_t i = 0; i < std::min(blocks.size(), splits.size()); ++i) {
    checker.Require(splits[i] >= 0, "{} holds {}", name, splits[i]);
    blocks[i] = splits[i] * element_bytes;
  }
  return blocks;
}

std::int64_t Sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

// all_gather, gather (own = in, total = out), reduce_scatter, scatter (own = out, total = in):
// one buffer of a block per member, and this rank's own block.
void LayBlocks(const CommSpec& spec, const GroupPlace& place, bool has_total,
               TransferLayout& layout, Checker& checker) {
  const bool total_is_out = IsGathering(spec.kind);
  const std::int64_t own = total_is_out ? spec.in_bytes : spec.out_bytes;
  const std::int64_t total = total_is_out ? spec.out_bytes : spec.in_bytes;
  const auto& splits = total_is_out ? spec.out_splits : spec.in_splits;
  layout.block_bytes = own;
  if (!splits.empty()) {
    const std::string_view name = total_is_out ? "out_splits" : "in_splits";
    auto blocks = Blocks(splits, place, layout.element_bytes, name, checker);
    checker.RequireEqual(blocks[static_cast<std::size_t>(place.rank)], own,
                         "bytes that {} gives this rank against its own", name);
    layout.uneven = std::ranges::adjacent_find(blocks, std::not_equal_to<>()) != blocks.end();
    if (has_total) {
      checker.RequireEqual(Sum(blocks), total, "bytes of {} against the buffer", name);
    }
    (total_is_out ? layout.out_blocks : layout.in_blocks) = std::move(blocks);
  } else if (has_total) {
    checker.RequireEqual(total, own * place.size(), "{} against {} x {} ranks",
                         total_is_out ? "out_bytes" : "in_bytes",
                         total_is_out ? "in_bytes" : "out_bytes", place.size());
  }
  layout.in_bytes = total_is_out ? own : (has_total ? total : 0);
  layout.out_bytes = total_is_out ? (has_total ? total : 0) : own;
}

void LayAllToAll(const CommSpec& spec, const GroupPlace& place, TransferLayout& layout,
                 Checker& checker) {
  layout.in_bytes = spec.in_bytes;
  layout.out_bytes = spec.out_bytes;
  const std::int64_t unit = std::int64_t{layout.element_bytes} * place.size();
  const auto require_even = [&](std::int64_t bytes, std::string_view name) {
    checker.Require(bytes % unit == 0, "{} {} has no even split over {} ranks", name, bytes,
                    place.size());
  };
  const auto even = [&](std::int64_t bytes, std::string_view name) {
    require_even(bytes, name);
    return std::vector<std::int64_t>(static_cast<std::size_t>(place.size()), bytes / place.size());
  };
  layout.uneven = !spec.in_splits.empty() || !spec.out_splits.empty();
  if (!layout.uneven) {
    checker.RequireEqual(spec.in_bytes, spec.out_bytes, "in_bytes against out_bytes, no splits");
    require_even(spec.in_bytes, "in_bytes");
    layout.block_bytes = spec.in_bytes / place.size();
    return;
  }
  layout.in_blocks = spec.in_splits.empty() ? even(spec.in_bytes, "in_bytes")
                                            : Blocks(spec.in_splits, place, layout.element_bytes,
                                                     "in_splits", checker);
  layout.out_blocks = spec.out_splits.empty() ? even(spec.out_bytes, "out_bytes")
                                              : Blocks(spec.out_splits, place, layout.element_bytes,
                                                       "out_splits", checker);
  checker.RequireEqual(Sum(layout.in_blocks), spec.in_bytes, "bytes of in_splits against in_bytes");
  checker.RequireEqual(Sum(layout.out_blocks), spec.out_bytes,
                       "bytes of out_splits against out_bytes");
}

void LayWhole(const CommSpec& spec, bool is_root, TransferLayout& layout, Checker& checker) {
  switch (spec.kind) {
    case CommKind::kAllReduce:
      checker.RequireEqual(spec.in_bytes, spec.out_bytes, "in_bytes against out_bytes");
      layout.in_bytes = layout.out_bytes = spec.in_bytes;
      break;
    case CommKind::kReduce:
      layout.in_bytes = spec.in_bytes;
      layout.out_bytes = is_root ? spec.in_bytes : 0;
      checker.Require(!is_root || spec.out_bytes >= spec.in_bytes, "out_bytes below in_bytes");
      break;
    case CommKind::kBroadcast:
      // Specs hold both sizes or only the one that the rank uses.
      layout.block_bytes = std::max(spec.in_bytes, spec.out_bytes);
      checker.Require(spec.in_bytes == 0 || spec.out_bytes == 0 || spec.in_bytes == spec.out_bytes,
                      "in_bytes {}, out_bytes {}", spec.in_bytes, spec.out_bytes);
      layout.in_bytes = is_root ? spec.in_bytes : 0;
      layout.out_bytes = is_root ? spec.out_bytes : layout.block_bytes;
      checker.Require((is_root ? spec.in_bytes : spec.out_bytes) == layout.block_bytes, "{} is 0",
                      is_root ? "the root's in_bytes" : "out_bytes");
      return;
    case CommKind::kSend:
      layout.in_bytes = spec.in_bytes;
      break;
    case CommKind::kRecv:
      layout.out_bytes = spec.out_bytes;
      break;
    default:
      break;
  }
  layout.block_bytes = std::max(layout.in_bytes, layout.out_bytes);
}

}  // namespace

int PositionOf(std::int32_t global_rank, std::span<const std::int32_t> ranks) {
  // In the group of all ranks, or a prefix of it, the position is the rank: no search.
  const auto at = static_cast<std::size_t>(global_rank);
  if (global_rank >= 0 && at < ranks.size() && ranks[at] == global_rank) {
    return global_rank;
  }
  const auto it = std::ranges::find(ranks, global_rank);
  return it == ranks.end() ? -1 : static_cast<int>(it - ranks.begin());
}

std::optional<std::int64_t> LargestBuffer(const CommSpec& spec, int members) {
  if (!spec.in_splits.empty() || !spec.out_splits.empty()) {
    return std::nullopt;
  }
  if (spec.kind == CommKind::kReduce || spec.kind == CommKind::kAllToAll) {
    return spec.in_bytes;  // a reduce's root may have a longer output
  }
  if (!HasBlocks(spec.kind)) {
    return std::max(spec.in_bytes, spec.out_bytes);
  }
  return members * (IsGathering(spec.kind) ? spec.in_bytes : spec.out_bytes);
}

Status CheckBuffers(const CommSpec& spec, const TransferLayout& layout, std::size_t in_bytes,
                    std::size_t out_bytes) {
  if (in_bytes < static_cast<std::size_t>(layout.in_bytes) ||
      out_bytes < static_cast<std::size_t>(layout.out_bytes)) {
    return UsageError(fmt::format("{}: buffers of {} and {} bytes for {} in and {} out",
                                  Describe(spec), in_bytes, out_bytes, layout.in_bytes,
                                  layout.out_bytes));
  }
  return {};
}

bool Overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

Status CheckGroup(const std::vector<std::int32_t>& ranks, int world_size) {
  if (ranks.empty()) {
    return UsageError("a process group without ranks");
  }
  std::vector<std::int32_t> sorted = ranks;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    return UsageError("a process group names a rank twice");
  }
  if (sorted.front() < 0 || sorted.back() >= world_size) {
    return UsageError(fmt::format("a process group names rank {}, the run has {}",
                                  sorted.front() < 0 ? sorted.front() : sorted.back(), world_size));
  }
  return {};
}

std::string Describe(const CommSpec& spec) {
  return fmt::format("{} #{} of group '{}'", Name(spec.kind), spec.index, spec.group);
}

Result<TransferLayout> LayoutOf(const CommSpec& spec, const GroupPlace& place) {
  TransferLayout layout;
  Checker checker(spec, place);
  layout.element_bytes = std::max(1, SizeOf(spec.dtype));
  checker.Require(spec.in_bytes >= 0 && spec.out_bytes >= 0, "negative size");
  if (HasRoot(spec.kind)) {
    layout.root = PositionOf(spec.root, place.ranks);
    checker.Require(layout.root >= 0, "root {} is no member", spec.root);
  }
  if (IsPointToPoint(spec.kind)) {
    layout.peer = PositionOf(spec.peer, place.ranks);
    checker.Require(layout.peer >= 0, "peer {} is no member", spec.peer);
    checker.Require(layout.peer != place.rank, "the peer is the rank itself");
  }
  const bool is_root = layout.root == place.rank;
  switch (spec.kind) {
    case CommKind::kAllGather:
    case CommKind::kReduceScatter:
      LayBlocks(spec, place, true, layout, checker);
      break;
    case CommKind::kGather:
    case CommKind::kScatter:
      LayBlocks(spec, place, is_root, layout, checker);
      break;
    case CommKind::kAllToAll:
      LayAllToAll(spec, place, layout, checker);
      break;
    case CommKind::kBarrier:
      break;
    default:
      LayWhole(spec, is_root, layout, checker);
  }
  checker.Require(
      layout.in_bytes % layout.element_bytes == 0 && layout.out_bytes % layout.element_bytes == 0,
      "{} and {} bytes are no whole number of {}", layout.in_bytes, layout.out_bytes,
      Name(spec.dtype));
  REPRISE_TRY(checker.Outcome());
  if (IsReduction(spec.kind) && !CanReduce(spec.dtype, spec.op)) {
    return UsageError(
        fmt::format("{}: no {} of {}", Describe(spec), Name(spec.op), Name(spec.dtype)));
  }
  return layout;
}

}  // namespace reprise
