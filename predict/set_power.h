// Power of a simulated set: which classes of devices there are, what they take, and what the run
// keeps of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/prediction.h"
#include "predict/simulator/class_simulation.h"
#include "predict/simulator/power/power.h"
#include "report/run/run.h"

namespace reprise {

// Classes of equal ranks whose times are known.
struct PoweredSet {
  const ProgramSet& programs;
  const WorkOfNode& work;
  const std::vector<std::uint32_t>& class_of;  // by rank
  const std::vector<RankClassTimes>& classes;
  TimingGraph& timing;
  Schedule& schedule;
  bool recorded = false;        // the times were measured under the device's own limit
  bool keep_stretches = false;  // PowerInput
};

// Of a transfer in a captured set, its time without waiting.
[[nodiscard]] std::int64_t RecordedTransferNs(const TimingGraph& timing, std::uint32_t node);

class SetPower {
 public:
  // Before the simulation. Bad input where `machine` (nothing: the capture's own, unknown) lacks
  // the numbers for what is asked; usage for a limit that is none (`limit`: "500W"; empty: the
  // machine's).
  [[nodiscard]] static Result<SetPower> Create(const std::string& limit, bool until_steady,
                                               const std::optional<MachineModel>& machine);
  // Whether ranks in other slots are no equals (ClassOptions::slots).
  [[nodiscard]] bool slots() const { return slots_; }

  // Lengthens the times where a limit or heat lowers clocks: one device for each class. Nothing
  // happens on a machine without power.
  [[nodiscard]] Status Settle(const MachineModel& machine, const PoweredSet& set);

  // After Settle, once for each rank of the run, in order: keeps what its nodes are called. Its
  // graph's nodes begin at `first`.
  void AddRank(const Graph& graph, std::uint32_t first);

  // Of a run with one rank for each class (`by_class`), or with all ranks. `blocks`: of its nodes
  // (ScheduledRanks).
  void Write(std::size_t rank, std::span<const std::uint64_t> blocks, RankWriter& writer,
             bool by_class) const;
  // After AddRank. Nothing: without power.
  [[nodiscard]] std::optional<PowerPrediction> Predict(std::int64_t steps) const;
  // Options of the run: what could not be met (docs/run_format.md).
  [[nodiscard]] std::map<std::string, std::string> Describe() const;

 private:
  // Joules of a step, watts over all `seconds`.
  [[nodiscard]] std::vector<PowerPrediction::OfDevice> Devices(double steps) const;
  [[nodiscard]] std::vector<PowerPrediction::OfNode> Nodes(double steps, double seconds) const;
  [[nodiscard]] std::vector<PowerPrediction::OfClass> Classes(double steps, double seconds) const;
  [[nodiscard]] DeviceSummary Summary() const;
  // That have a device of the job.
  [[nodiscard]] double NodeCount() const;

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
