// Which nodes wait for which, by successors. Built once, run often.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/grouped.h"

namespace reprise {

struct DependencyGraph {
  Grouped successors;
  std::vector<std::uint32_t> dependency_count;

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(dependency_count.size());
  }
  // From dependency lists (CSR): deps of i are deps[dep_offset[i] .. dep_offset[i+1]).
  static DependencyGraph FromDependencies(std::span<const std::uint32_t> dep_offset,
                                          std::span<const std::uint32_t> deps) {
    const auto n = static_cast<std::uint32_t>(dep_offset.size() - 1);
    std::vector<std::uint32_t> counts;
    for (std::uint32_t i = 0; i < n; ++i) {
      counts.push_back(dep_offset[i + 1] - dep_offset[i]);
    }
    return {GroupByKey(n,
                       [&](const auto& add) {
                         for (std::uint32_t i = 0; i < n; ++i) {
                           for (const std::uint32_t dep : deps.subspan(dep_offset[i], counts[i])) {
                             add(dep, i);
                           }
                         }
                       }),
            std::move(counts)};
  }
};

}  // namespace reprise
