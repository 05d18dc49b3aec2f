// The stages of one rank's replay; replay.cc calls them in order.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms/group.h"
#include "collectives/clock_exchange.h"
#include "collectives/communicator.h"
#include "core/iteration_load.h"
#include "core/result.h"
#include "et_schema/trace_set.h"
#include "kernels/device.h"
#include "replayer/engine/comm_thread.h"
#include "replayer/engine/engine.h"
#include "replayer/engine/estimate.h"
#include "replayer/engine/watchdog.h"
#include "replayer/memory/device_memory.h"
#include "replayer/memory/memory_plan.h"
#include "replayer/plan/part.h"
#include "replayer/plan/plan.h"
#include "replayer/replay.h"
#include "report/run/run.h"
#include "report/telemetry/sampler.h"
#include "report/telemetry/steadiness.h"

namespace reprise {

// Stages marked collective are; the caller makes all ranks agree on one rank's error.
class Session {
 public:
  Session(const ReplayRequest& request, Communicator& communicator)
      : request_(request), communicator_(communicator) {}

  Status OpenTrace();         // trace set, this rank's graph
  Status PlanWork();          // collective: ranks agree on host gaps, then plan
  Status CreateGroups();      // collective
  Status MatchRanks();        // collective within each group: fit sizes, match
  Status ChooseAlgorithms();  // collective: measures collectives that nobody chose one for
  Status OpenDevice();        // device, memory plan
  Status EstimateCost();      // collective: one rank per device measures it alone
  Status AllocateMemory();
  Status ConnectDevices();      // collective: transfers that do not pass through the hosts
  Status PrepareEngine();       // collective: compile
  Status WarnOfUnknownWork();   // collective; rank 0 prints
  Status CreateRunDirectory();  // on rank 0; nothing on others
  Status BeginRecording();
  Status WritePreliminaryManifest();     // collective gather; a killed run then has its settings
  Status CompareClocks();                // collective: this host's clock against rank 0's
  Status MeasureIdle();                  // collective
  Status RunIterations();                // collective; the only stage with transfers outstanding
  void RecordFailure(const Error& why);  // the first; the run on disk keeps why it ended
  Status EndRecording();                 // this rank's file is complete
  Status WriteSummary();                 // rank 0 writes run.sqlite and marks the manifest complete
  [[nodiscard]] ReplayOutcome Outcome() const;

 private:
  Status ResolveHostGaps();  // collective
  [[nodiscard]] bool UsesDevice() const;
  // Surrogates for want of a kernel become real where the provider takes the call; what it does not
  // take is counted.
  Status UseProvider(const OperatorProvider& provider);
  [[nodiscard]] bool LacksKernel(const Work& work, OpClass op_class) const;
  // As algorithms are chosen for it.
  [[nodiscard]] ChosenTransfer Chosen(const CommSpec& spec) const;
  [[nodiscard]] int ComputeThreads() const;
  void RecordReplayingMachine();
  [[nodiscard]] Status CheckSize() const;
  [[nodiscard]] std::string DeviceKey() const;
  Result<DeviceLimits> SharedLimits();
  [[nodiscard]] double SharingSlowdown() const;
  Result<std::int64_t> StagingChunkBytes();  // collective
  Result<std::int64_t> StartSkewNs();
  Status Iterate();
  [[nodiscard]] std::int64_t RecordedPageFaults() const;
  Status CheckValues(std::int32_t iteration);
  [[nodiscard]] Watchdog::Callbacks WatchdogCallbacks();
  Result<RunManifest> MakeManifest();
  void StartSampler();
  void StopSampler();
  Result<bool> WarmsUpFurther(std::int64_t since_ns);  // collective
  Status CompareClocksAfter(std::int32_t iterations, std::int32_t total);

  ReplayRequest request_;  // a copy, in which the ranks resolve what is left open
  Communicator& communicator_;
  TraceSet set_;
  RankMapping mapping_;
  std::optional<RankPart> loaded_;  // until it is planned
  std::optional<Graph> graph_;
  PartCounts part_;  // of all ranks, once matched
  Plan plan_;
  std::vector<PlannedTransfer> transfers_;
  std::optional<GroupMaker> group_maker_;  // of groups_
  RankGroups groups_;
  AlgorithmChoices named_algorithms_;  // by the user
  RunManifest manifest_;
  std::unique_ptr<Device> device_;
  int device_index_ = 0;
  int devices_ = 0;                 // of the backend
  int ranks_on_device_ = 1;         // of this host, this one among them
  bool each_has_a_device_ = false;  // every rank of the run, and none shares its
  MemoryPlan memory_plan_;
  DeviceLimits limits_;
  Estimate estimate_;
  std::unique_ptr<DeviceMemory> memory_;
  DeviceLinks links_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RankWriter> writer_;
  std::vector<IterationLoad> loads_;  // of iterations that have ended
  std::atomic<bool> failure_recorded_ = false;
  RecentSamples recent_{2 * kSteadyWindowNs};  // of sampler_
  std::unique_ptr<Sampler> sampler_;           // on one rank of each host
  std::string steady_note_;
  std::optional<ClockExchange> clocks_;
  std::vector<ClockReading> clock_readings_, wall_readings_;  // on one rank of each host
};

}  // namespace reprise
