// Cuts a collective into the shares of its lanes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/algorithms/algorithm.h"
#include "collectives/layout.h"

namespace reprise {

class Slices {
 public:
  // `lane_bytes` of the whole (of all blocks together) per lane, at least one unit of each.
  // `nodes`: of every member (LaneShape); must outlive this.
  Slices(const CommSpec& spec, const TransferLayout& layout, int rank, int size,
         std::span<const int> nodes, std::int64_t lane_bytes);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] int members() const { return common_.size; }
  [[nodiscard]] LaneShape Shape(std::int64_t lane) const;

 private:
  [[nodiscard]] ByteRange Of(std::int64_t lane, std::int64_t block_bytes) const;

  LaneShape common_;
  std::int64_t whole_bytes_ = 0;  // kinds without blocks
  std::int64_t share_bytes_ = 1;  // of the whole, or of each block, per lane
  std::vector<std::int64_t> blocks_;
  std::vector<std::int64_t> out_blocks_;  // all_to_all
  bool has_blocks_buffer_ = false;        // this rank holds all blocks
  std::int64_t count_ = 0;
};

}  // namespace reprise
