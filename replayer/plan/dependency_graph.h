// Which nodes wait for which, by successors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

// Successor lists in CSR form plus the number of dependencies of each node. Built once, run often.
struct DependencyGraph {
  std::vector<std::uint32_t> successor_offset;  // size n+1
  std::vector<std::uint32_t> successors;
  std::vector<std::uint32_t> dependency_count;

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(dependency_count.size());
  }
  // From dependency lists (CSR): deps of i are deps[dep_offset[i] .. dep_offset[i+1]).
  static DependencyGraph FromDependencies(std::span<const std::uint32_t> dep_offset,
                                          std::span<const std::uint32_t> deps);
};

}  // namespace reprise
