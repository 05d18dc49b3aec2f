// How much of a replay can run, in numbers that ranks add up.
#pragma once

#include <cstdint>

#include "core/unknown_work.h"
#include "replayer/plan/plan.h"

namespace reprise {

struct WorkSums {
  std::int64_t recorded_ns = 0, unknown_ns = 0;  // of all that counts, and of unknown work
  std::uint64_t nodes = 0, unknown_nodes = 0;
  bool shapes = false;  // some node has shapes or counts

  void Add(const WorkSums& other);
  [[nodiscard]] UnknownWork Unknown() const;
};

[[nodiscard]] WorkSums SumWork(const Graph& graph, const Plan& plan);

}  // namespace reprise
