// One rank's part of a GOAL schedule.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "converters/goal/schedule.h"
#include "predict/goal/report.h"
#include "predict/goal/transfers.h"
#include "replayer/plan/simulated_run.h"

namespace reprise {

enum class GoalCpus : std::uint8_t {
  kStreams,  // threads, streams and transfers at the same time
  kOne,      // a rank does one operation at a time
};

struct GoalRank {
  const SimulatedSet& set;
  const Schedule& schedule;  // of set.timing
  std::size_t rank = 0;
  // Of set.timing: those of the rank's graph, then those that no graph has; ascending.
  std::span<const std::uint32_t> nodes;
  std::int64_t origin_ns = 0;  // where the schedule begins
};

// By node of the rank's graph.
struct NodeMessages {
  const GoalMember* member = nullptr;
  std::uint32_t first_tag = 0;  // of its channels
};
using MessagesOfRank = std::map<Graph::Index, NodeMessages>;

// Transfers without messages take the time that the schedule has for them.
[[nodiscard]] goal::RankSchedule GoalOfRank(const GoalRank& rank, const MessagesOfRank& messages,
                                            GoalCpus cpus, GoalReport& report);

}  // namespace reprise
