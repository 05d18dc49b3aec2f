// A captured set between two machines, as `reprise simulate` runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/job_facts.h"
#include "cli/simulated_power.h"
#include "cli/traced_memory.h"
#include "core/result.h"
#include "replayer/dry.h"
#include "simulator/class_simulation.h"
#include "simulator/scale.h"

namespace reprise {

// Whether a rank does something in a node.
using Counts = std::function<bool(const Graph& graph, Graph::Index i)>;

// Sums over ranks, of whole steps: time in which a rank only transfers (once the last member has
// come), and in which it does nothing or waits for others.
struct IdleTimes {
  double ranks = 0;
  double exposed_ns = 0, bubble_ns = 0;

  // `first`: of the rank's nodes in the schedule. `own_ns`: of a transfer, without waiting.
  void AddRank(const Graph& graph, const Counts& counts, const Schedule& schedule,
               std::uint32_t first, const std::function<std::int64_t(std::uint32_t node)>& own_ns,
               std::int64_t ranks_alike);
};

struct FoldedJob;

struct SimulatedSet {
  std::string machine;      // name, file, or "recorded"
  std::string captured_on;  // name or file; empty: by the device in the capture
  std::vector<std::string> overrides;
  ScaleOptions options;  // `from` and `to` follow

  // Reads the machines as far as they are named. Bad input, usage.
  [[nodiscard]] Status Prepare();
  // What replaces the dry run's times. This must outlive it.
  [[nodiscard]] DrySimulation Simulation();
  // After the run, whose directory may be empty where step_ns is known: docs/simulation.md has the
  // keys.
  [[nodiscard]] Result<nlohmann::ordered_json> ToJson(const std::string& run) const;

  // Of a job, or a set without durations. Usage error where an option is of recorded times; bad
  // input where the machine is the one that the set was recorded on.
  [[nodiscard]] Status CheckWithoutTimes(bool job) const;

  // What must be said first, as the report says it.
  [[nodiscard]] std::vector<std::string> Warnings() const;

  // A folded set, or a job that is in no set: each class once, without a graph for each rank.
  // Instead of Simulation(). Without a run directory in the request no run is written.
  [[nodiscard]] Status RunFolded(const ReplayRequest& request, const TraceSet& set,
                                 const FoldedJob& job, bool fold);

  SimulatedPower power;
  std::optional<JobFacts> job;         // of a job, or a generated set
  std::optional<TracedMemory> traced;  // afterwards, of a set without such facts

  // Known afterwards.
  IdleTimes idle;
  std::int64_t steps = 1;
  std::optional<std::int64_t> step_ns;  // of the longest rank, mean of the steps; RunFolded
  double products_at_peak_ns = 0;       // of all ranks and steps
  ScaleSummary summary;
  std::set<std::string> without_rate;  // types of products that the machine has no rate for
  std::vector<TimeSource> sources;
  std::int64_t ranks = 0;            // 0: as the run has
  std::int64_t classes = 0;          // of ranks, that were simulated
  std::optional<Schedule> schedule;  // of a set without durations

 private:
  [[nodiscard]] Status WriteFolded(const ReplayRequest& request, const TraceSet& set,
                                   const FoldedJob& job, ClassSimulation&& simulated);
  [[nodiscard]] Status FindSource(const DrySet& set);
  void FindTypeWithoutRate(const DeviceModel& device, const OperatorWork& work);
  // Times by the machine's model alone, and what they add up to.
  [[nodiscard]] Result<ClassSimulation> ModelClasses(const ProgramSet& set, bool fold,
                                                     const WorkOfNode& work, const Counts& counts);
  [[nodiscard]] Status ModelTimes(const DrySet& set, const WorkOfNode& work);
  // Power of recorded times that were scaled.
  [[nodiscard]] Status SettleRecorded(const DrySet& set, const WorkOfNode& work);
  [[nodiscard]] Status ReplaceTimes(const DrySet& set);
  [[nodiscard]] std::map<std::string, std::string> Describe() const;
};

}  // namespace reprise
