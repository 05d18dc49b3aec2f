// reprise export --to goal, goal-text: schedules for LogGOPSim and ATLAHS.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/simulate.h"

namespace reprise {

struct GoalFlags {
  MachineRequest machine;  // of an empty name: the sets' own times
  std::vector<std::string> algo, place;
  std::string cpus = "streams";

  [[nodiscard]] bool IsGiven() const {
    return !machine.machine.empty() || !machine.captured_on.empty() || !machine.overrides.empty() ||
           !algo.empty() || !place.empty() || cpus != "streams";
  }
};

// The options of --to goal alone.
void AddGoalOptions(CLI::App& app, GoalFlags& flags);

// What it shares with other formats.
struct GoalExport {
  std::vector<std::string> sets;
  std::string output, ranks, host_gaps;
  std::optional<std::int32_t> step;
  bool text = false, all = false, force = false;
};
[[nodiscard]] Status ExportGoal(const GoalExport& request, const GoalFlags& flags);

}  // namespace reprise
