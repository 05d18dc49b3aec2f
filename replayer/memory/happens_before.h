// Which nodes have certainly ended before another one starts, whatever the timing: derived from the
// plan's dependencies alone (vector clocks).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "et_schema/graph.h"
#include "replayer/plan/plan.h"

namespace reprise {

class HappensBefore {
 public:
  // The order in further actors is ignored: the result is then incomplete, but never wrong.
  static constexpr std::uint32_t kMaxActors = 16;

  HappensBefore(const Graph& graph, const Plan& plan);
  // Where the node stands in a topological order, from 1.
  [[nodiscard]] std::uint32_t Position(Graph::Index i) const { return position_[i]; }
  // By actor: all of its nodes up to this position are over before `i` starts; 0: none. Sequences
  // of transfers have 0: theirs is an order of issue.
  [[nodiscard]] std::span<const std::uint32_t> Before(Graph::Index i) const {
    return {clocks_.data() + std::size_t{i} * actors_, actors_};
  }

 private:
  std::uint32_t actors_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> clocks_;  // actors_ a node
};

}  // namespace reprise
