// What a set of nodes took in each iteration of the replay. The median of these sums, and not the
// sum of the nodes' medians, compares with the recording, which is one pass: the sum of medians is
// less than any iteration takes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/median.h"
#include "report/nodes/measured.h"

namespace reprise {

class PassSums {
 public:
  void Add(std::int32_t iteration, std::int64_t duration_ns) { sums_ns_[iteration] += duration_ns; }
  // 0 without any.
  [[nodiscard]] std::int64_t MedianNs() const {
    std::vector<std::int64_t> values_ns;
    values_ns.reserve(sums_ns_.size());
    for (const auto& [iteration, sum_ns] : sums_ns_) {
      values_ns.push_back(sum_ns);
    }
    return Median(values_ns).value_or(0);
  }

 private:
  std::map<std::int32_t, std::int64_t> sums_ns_;
};

}  // namespace reprise
