// Whether an id is one of some. Ids mostly follow each other: a bit for each then, else a search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace reprise {

class IdSet {
 public:
  explicit IdSet(std::vector<std::uint64_t> ids) : sorted_(std::move(ids)) {
    std::ranges::sort(sorted_);
    if (sorted_.empty() || sorted_.back() - sorted_.front() >= kMostBits * sorted_.size()) {
      return;
    }
    first_ = sorted_.front();
    bits_.resize(sorted_.back() - first_ + 1);
    for (const std::uint64_t id : sorted_) {
      bits_[id - first_] = true;
    }
    sorted_ = std::vector<std::uint64_t>();
  }

  [[nodiscard]] bool Contains(std::uint64_t id) const {
    const std::uint64_t place = id - first_;  // of a smaller id: beyond the bits
    return bits_.empty() ? std::ranges::binary_search(sorted_, id)
                         : place < bits_.size() && bits_[place];
  }

 private:
  static constexpr std::uint64_t kMostBits = 512;  // for each id: as much as the id itself, 8 times

  std::uint64_t first_ = 0;
  std::vector<bool> bits_;
  std::vector<std::uint64_t> sorted_;  // where there are no bits
};

}  // namespace reprise
