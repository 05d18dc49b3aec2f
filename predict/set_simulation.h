// One set on one machine while it is simulated: what replaces the dry run's times, and what is
// known afterwards. Only predict/ uses it; others call PredictSet and PredictJob (simulate.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "predict/simulate.h"
#include "predict/simulator/class_simulation.h"
#include "predict/traced_memory.h"
#include "predict/transform/rule_set.h"
#include "replayer/plan/simulated_run.h"

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

class SetSimulation {
 public:
  // `known`: of simulations of one job with other micro-batches (SimulateClasses).
  explicit SetSimulation(TargetMachine machine, std::shared_ptr<EqualRanks>* known = nullptr)
      : machine_(std::move(machine)), known_(known) {}

  // Before the simulation, of a job or a generated set: what its description says. Its stack is put
  // into the machine and the memory. Bad input: no such stack.
  [[nodiscard]] Status SetJob(JobFacts job);

  // What replaces the dry run's times of a set with one graph for each rank. This must outlive it.
  [[nodiscard]] Simulation AsSimulation();
  // A folded set, or a job: each class once, without a graph for each rank. Instead of
  // AsSimulation(). Without a run directory in the request no run is written.
  [[nodiscard]] Status RunFolded(const SimulationRequest& request, const TraceSet& set,
                                 const FoldedJob& job);
  // Before the simulation: what becomes of times. Must outlive it.
  void SetRules(const RuleSet* rules) { rules_ = rules; }
  // Before AsSimulation: the ranks simulated stand for a job of so many.
  void StandFor(std::int64_t job_ranks) { job_ranks_ = job_ranks; }
  // Afterwards. `run`: where AsSimulation() was written; after RunFolded not needed.
  [[nodiscard]] Result<Prediction> Predict(const std::string& run) const;

 private:
  [[nodiscard]] Status WriteFolded(const SimulationRequest& request, const TraceSet& set,
                                   const FoldedJob& job, ClassSimulation&& simulated);
  [[nodiscard]] Status FindSource(const SimulatedSet& set);
  [[nodiscard]] Status CheckRules() const;
  [[nodiscard]] std::vector<std::vector<TimeChange>> ChangesOf(const SimulatedSet& set) const;
  // Of a set with recorded times, once these are scaled.
  void ChangeTimes(const SimulatedSet& set) const;
  void FindTypeWithoutRate(const DeviceModel& device, const OperatorWork& work);
  // Times by the machine's model alone, and what they add up to.
  [[nodiscard]] Result<ClassSimulation> ModelClasses(const ProgramSet& set, const WorkOfNode& work,
                                                     const Counts& counts);
  [[nodiscard]] Status ModelTimes(const SimulatedSet& set, const WorkOfNode& work);
  // Power of recorded times that were scaled.
  [[nodiscard]] Status SettleRecorded(const SimulatedSet& set, const WorkOfNode& work);
  [[nodiscard]] Status ReplaceTimes(const SimulatedSet& set);
  [[nodiscard]] std::map<std::string, std::string> Describe() const;
  [[nodiscard]] std::string WithoutRate() const;
  void AddJobFacts(Prediction& prediction) const;

  TargetMachine machine_;  // options.from follows from the set, where it was not given
  std::shared_ptr<EqualRanks>* known_;
  std::optional<JobFacts> job_;
  std::optional<StackPrediction> stack_;

  std::int64_t job_ranks_ = 0;      // 0: every rank is simulated
  const RuleSet* rules_ = nullptr;  // nothing changes

  // Known afterwards.
  std::optional<TracedMemory> traced_;  // of a set without job facts
  IdleTimes idle_;
  std::vector<std::vector<std::uint64_t>> last_starts_;
  std::int64_t steps_ = 1;
  std::optional<std::int64_t> step_ns_;  // of the longest rank, mean of the steps; RunFolded
  double products_at_peak_ns_ = 0;       // of all ranks and steps
  ScaleSummary summary_;
  std::set<std::string> without_rate_;  // types of products that the machine has no rate for
  std::vector<TimeSource> sources_;
  std::int64_t ranks_ = 0;            // 0: as the run has
  std::int64_t classes_ = 0;          // of ranks, that were simulated
  std::optional<Schedule> schedule_;  // of a set without durations
};

}  // namespace reprise
