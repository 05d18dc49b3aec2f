// A captured set between two machines, as `reprise simulate` runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/job_facts.h"
#include "cli/simulated_power.h"
#include "cli/traced_memory.h"
#include "core/result.h"
#include "replayer/dry.h"
#include "simulator/scale.h"

namespace reprise {

inline constexpr char kRecordedMachine[] = "recorded";

// Sums over ranks, of whole steps: time in which a rank only transfers (once the last member has
// come), and in which it does nothing or waits for others.
struct IdleTimes {
  double ranks = 0;
  double exposed_ns = 0, bubble_ns = 0;

  // `first`: of the rank's nodes, by `graph`'s index. `counts`: the rank does something in it.
  // `own_ns`: of a transfer, without waiting.
  void AddRank(const Graph& graph, const std::function<bool(Graph::Index)>& counts,
               const Schedule& schedule, std::uint32_t first,
               const std::function<std::int64_t(std::uint32_t node)>& own_ns,
               std::int64_t ranks_alike);
};

struct FoldedJob;
struct ClassSimulation;

struct SimulatedSet {
  std::string machine;      // name, file, or kRecordedMachine
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

  // Known afterwards.
  IdleTimes idle;
  std::int64_t steps = 1;
  std::optional<std::int64_t> step_ns;  // of the longest rank, mean of the steps; RunFolded
  std::optional<JobFacts> job;          // of a job, or a generated set
  std::optional<TracedMemory> traced;   // of a set without such facts
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
  void FindTypesWithoutRate(const DeviceModel& device, std::span<const OperatorWork> work);
  // Times by the machine's model alone.
  [[nodiscard]] Status ModelTimes(const DrySet& set, const std::vector<OperatorWork>& work);
  [[nodiscard]] Status ReplaceTimes(const DrySet& set);
  [[nodiscard]] std::map<std::string, std::string> Describe() const;
};

}  // namespace reprise
