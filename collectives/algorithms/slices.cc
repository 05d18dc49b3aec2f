#include "collectives/algorithms/slices.h"

#include <algorithm>

namespace reprise {
namespace {

std::vector<std::int64_t> BlocksOf(const std::vector<std::int64_t>& blocks, std::int64_t even,
                                   int size) {
  return blocks.empty() ? std::vector<std::int64_t>(static_cast<std::size_t>(size), even) : blocks;
}

}  // namespace

Slices::Slices(const CommSpec& spec, const TransferLayout& layout, int rank, int size,
               std::span<const int> nodes, std::int64_t lane_bytes) {
  common_ = {.kind = spec.kind,
             .rank = rank,
             .size = size,
             .root = layout.root,
             .unit_bytes = layout.element_bytes,
             .nodes = nodes};
  if (spec.kind == CommKind::kBarrier) {
    count_ = 1;
    return;
  }
  const std::int64_t unit = layout.element_bytes;
  std::int64_t longest = 0;
  if (!HasBlocks(spec.kind)) {
    whole_bytes_ = longest = std::max({layout.in_bytes, layout.out_bytes, layout.block_bytes});
    share_bytes_ = std::max(lane_bytes / unit, std::int64_t{1}) * unit;
  } else {
    const bool gathers = IsGathering(spec.kind);
    const bool exchanges = spec.kind == CommKind::kAllToAll;
    blocks_ = BlocksOf(gathers ? layout.out_blocks : layout.in_blocks, layout.block_bytes, size);
    if (exchanges) {
      out_blocks_ = BlocksOf(layout.out_blocks, layout.block_bytes, size);
    }
    has_blocks_buffer_ = !HasRoot(spec.kind) || layout.root == rank;
    share_bytes_ = std::max(lane_bytes / size / unit, std::int64_t{1}) * unit;
    longest = *std::ranges::max_element(blocks_);
    if (exchanges) {
      // Partners cut what passes between them alike, regardless of whose block is longest: a
      // member's further lanes are then empty for the others.
      longest = std::max(longest, *std::ranges::max_element(out_blocks_));
    }
  }
  count_ = (longest + share_bytes_ - 1) / share_bytes_;
}

// What lane `lane` has of a block that begins at 0.
ByteRange Slices::Of(std::int64_t lane, std::int64_t block_bytes) const {
  const std::int64_t begin = std::min(lane * share_bytes_, block_bytes);
  return {begin, std::min(begin + share_bytes_, block_bytes) - begin};
}

LaneShape Slices::Shape(std::int64_t lane) const {
  LaneShape shape = common_;
  shape.whole = Of(lane, whole_bytes_);
  const auto ranges = [&](const std::vector<std::int64_t>& blocks) {
    std::vector<ByteRange> result;
    std::int64_t offset = 0;
    for (const std::int64_t bytes : blocks) {
      ByteRange range = Of(lane, bytes);
      range.offset += offset;
      result.push_back(range);
      offset += bytes;
    }
    return result;
  };
  const std::vector<ByteRange> blocks = ranges(blocks_);
  for (const ByteRange& range : blocks) {
    shape.block_bytes.push_back(range.bytes);
  }
  if (!blocks_.empty()) {
    shape.own = Of(lane, blocks_[static_cast<std::size_t>(common_.rank)]);
  }
  if (has_blocks_buffer_) {
    shape.blocks = blocks;
  }
  shape.out_blocks = ranges(out_blocks_);
  return shape;
}

}  // namespace reprise
