// What a set of nodes took in each iteration of the replay. The median of these sums, and not the
// sum of the nodes' medians, compares with the recording, which is one pass: the sum of medians is
// less than any iteration takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/median.h"
#include "report/nodes/measured.h"

namespace reprise {

class PassSums {
 public:
  void Add(std::int32_t iteration, std::int64_t duration_ns) {
    // There are few, and a node's records come in their order.
    if (next_ == sums_.size() || sums_[next_].iteration != iteration) {
      next_ = static_cast<std::size_t>(std::ranges::find(sums_, iteration, &Sum::iteration) -
                                       sums_.begin());
      if (next_ == sums_.size()) {
        sums_.push_back({iteration, 0});
      }
    }
    sums_[next_].ns += duration_ns;
    next_ = next_ + 1 == sums_.size() ? 0 : next_ + 1;
  }
  [[nodiscard]] bool empty() const { return sums_.empty(); }
  // 0 without any.
  [[nodiscard]] std::int64_t MedianNs() const {
    std::vector<std::int64_t> values_ns;
    values_ns.reserve(sums_.size());
    for (const Sum& sum : sums_) {
      values_ns.push_back(sum.ns);
    }
    return Median(values_ns).value_or(0);
  }

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.sums_);
  }

 private:
  struct Sum {
    std::int32_t iteration = 0;
    std::int64_t ns = 0;
  };
  std::vector<Sum> sums_;
  std::size_t next_ = 0;  // which one is looked at first
};

}  // namespace reprise
