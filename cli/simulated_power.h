// Power of a simulated set: options of `reprise simulate`, what is modelled, and its JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "run/run.h"
#include "simulator/class_simulation.h"
#include "simulator/power.h"

namespace reprise {

struct PowerFlags {
  std::string limit;  // empty: the machine's
  bool until_steady = false;
};
void AddPowerFlags(CLI::App& app, PowerFlags& flags);

// Classes of equal ranks whose times are known.
struct PoweredSet {
  const ProgramSet& programs;
  const WorkOfNode& work;
  const std::vector<std::uint32_t>& class_of;  // by rank
  const std::vector<RankClassTimes>& classes;
  TimingGraph& timing;
  Schedule& schedule;
  bool recorded = false;  // the times were measured under the device's own limit
};

// Of a transfer in a captured set, its time without waiting.
[[nodiscard]] std::int64_t RecordedTransferNs(const TimingGraph& timing, std::uint32_t node);

class SimulatedPower {
 public:
  // Before the simulation. Bad input where `machine` (nothing: the capture's own, unknown) lacks
  // the numbers for what the flags ask; usage for a limit that is none.
  [[nodiscard]] Status Interpret(const PowerFlags& flags,
                                 const std::optional<MachineModel>& machine);
  // Whether ranks in other slots are no equals (ClassOptions::slots).
  [[nodiscard]] bool slots() const { return slots_; }

  // Lengthens the times where a limit or heat lowers clocks: one device for each class. Nothing
  // happens on a machine without power.
  [[nodiscard]] Status Settle(const MachineModel& machine, const PoweredSet& set);

  // After Settle, once for each rank of the run, in order: keeps what its nodes are called. Its
  // graph's nodes begin at `first`.
  void AddRank(const Graph& graph, std::uint32_t first);

  // Of a run with one rank for each class (`by_class`), or with all ranks.
  void Write(std::size_t rank, RankWriter& writer, bool by_class) const;
  // Of one step, all ranks; null without power.
  [[nodiscard]] nlohmann::ordered_json StepJoules(std::int64_t steps) const;
  // docs/simulation.md has the keys; null without power.
  [[nodiscard]] nlohmann::ordered_json ToJson(std::int64_t steps) const;
  // Sums up ToJson for a row of a table: watts and degrees of a device, as mean and maximum over
  // all; shares of the time, mean over devices; rows of a node against the first one. Empty without
  // power.
  [[nodiscard]] nlohmann::ordered_json RowJson() const;
  // Options of the run: what could not be met (docs/run_format.md).
  [[nodiscard]] std::map<std::string, std::string> Describe() const;

 private:
  // Joules of a step, watts over all `seconds`.
  [[nodiscard]] nlohmann::ordered_json DevicesJson(double steps) const;
  [[nodiscard]] nlohmann::ordered_json NodesJson(double steps, double seconds) const;
  [[nodiscard]] nlohmann::ordered_json ClassesJson(double steps, double seconds) const;

  PowerOptions options_;
  bool slots_ = false;
  std::optional<MachineModel> machine_;  // with power
  std::vector<PoweredDevice> devices_;
  std::vector<std::uint32_t> device_of_;  // by rank of the job
  std::optional<PowerOutcome> outcome_;
  std::map<std::uint32_t, std::string> names_;        // of nodes that ran in peaks
  std::vector<std::vector<std::uint64_t>> node_ids_;  // by rank of the run, of its device's nodes
  std::string reason_;                                // why there is no outcome
};

}  // namespace reprise
