// Runs a plan: enqueues device work as deep as the original's host could run ahead, hands transfers
// to the communication thread, keeps host time, and records what happened.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "core/records.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "kernels/device.h"
#include "replayer/engine/comm_thread.h"
#include "replayer/engine/estimate.h"
#include "replayer/engine/ideal_time.h"
#include "replayer/engine/pacer.h"
#include "replayer/engine/rank_state.h"
#include "replayer/engine/replay_options.h"
#include "replayer/engine/scheduler.h"
#include "replayer/engine/value_check.h"
#include "replayer/engine/watchdog.h"
#include "replayer/memory/device_memory.h"
#include "replayer/plan/plan.h"

namespace reprise {

// The result of one replay of the whole trace on this rank.
struct IterationResult {
  std::vector<StepRecord> steps;
  std::vector<NodeRecord> records;
};

class Engine {
 public:
  // `device` and `memory` null where nothing runs on a device. `memory` has buffers for every
  // storage of the plan. All references must outlive the engine. Compiles and binds every launch.
  // Nodes of `plan` without a launch become timed (planned_launches.h).
  static Result<std::unique_ptr<Engine>> Create(const Graph& graph, Plan& plan,
                                                const ReplayOptions& options,
                                                Communicator& communicator, RankGroups& groups,
                                                CommThreadOptions transfers, Device* device,
                                                DeviceMemory* memory);
  ~Engine();

  // Replays the trace once. After an error (own, another rank's, watchdog) the engine is unusable.
  [[nodiscard]] Result<IterationResult> RunIteration(std::int32_t iteration, bool warmup);
  // The same once more, for its values instead of its times: counts of denormals, infinities and
  // NaN by operation, of real operations only. With options.check_values, else empty.
  [[nodiscard]] Result<std::map<std::string, ValueCounts>> CheckValues(std::int32_t iteration);
  [[nodiscard]] std::int64_t checked_transfers() const;

  // For the watchdog: the device's rates, divided among the ranks that share it. Without them no
  // work on the device counts as under way.
  void SetLimits(const DeviceLimits& limits, double slowdown);
  // From any thread, one at a time.
  [[nodiscard]] Progress GetProgress();
  [[nodiscard]] RankState GetState() const;
  // Ends the run on all ranks with the reason `reported`; this rank's own error is `found`. If
  // another rank failed first, the reason is that rank's. From any thread.
  void GiveUp(const Error& reported, const Error& found);
  // Why the engine is unusable, if it is.
  [[nodiscard]] std::optional<Error> failure() const;
  // WaitUntilNs, which the watchdog sees as an intended wait; shorter once the run is given up.
  void WaitUntil(std::int64_t deadline_ns);

 private:
  static constexpr Graph::Index kNoNode = UINT32_MAX;

  struct Enqueued {
    Graph::Index node;
    std::uint32_t launches;
    double stretch;  // what is still to be waited for; 1 if the stream does
  };

  // One recorded host thread or device stream. Used by the thread that runs its current node.
  struct ActorState {
    IdealTime timeline;
    std::unique_ptr<Stream> stream;  // null: nothing of this actor runs on a device
    std::unique_ptr<Pacer> pacer;
    std::vector<Enqueued> enqueued;  // since settling
    std::vector<EventPtr> wait_for;  // of the node at hand
    std::vector<NodeRecord> records;
    std::vector<std::int64_t> step_end_ns;  // by step, the last end so far; INT64_MIN: none
    // What the watchdog sees from outside.
    std::atomic<Graph::Index> last = kNoNode;     // node completed last
    std::atomic<Graph::Index> at_hand = kNoNode;  // node that may be waiting
    std::atomic<std::int64_t> backlog_ns = 0;     // estimate of `enqueued`
  };

  Engine(const Graph& graph, const Plan& plan, const ReplayOptions& options,
         Communicator& communicator);
  Status CreateActors(Device* device);
  Status PrepareLaunches(Device& device, DeviceMemory& memory, Plan& plan);
  void CountAfter(std::vector<Launch>& launches, bool on_host);

  NodeState RunNode(Graph::Index i);
  NodeState RunOnThread(Graph::Index i, ActorState& actor);
  bool IsInTime(Graph::Index i, const ActorState& actor);
  NodeState RunOnStream(Graph::Index i, ActorState& actor);
  Status EnqueueOnStream(Graph::Index i, ActorState& actor);
  [[nodiscard]] bool OnStream(Graph::Index i) const;
  void ExpectEventUsers();
  EventPtr UseEvent(Graph::Index dep, Graph::Index by);
  void RunPaced(Graph::Index i);
  Status RunPacedChecked(Graph::Index i, ActorState& actor);
  Status Execute(Graph::Index i, ActorState& actor);
  Status Settle(ActorState& actor);
  Result<std::int64_t> AwaitDependencies(Graph::Index i);
  void Record(ActorState& actor, Graph::Index i, std::int64_t start_ns, std::int64_t duration_ns);
  void NoteEnd(ActorState& actor, Graph::Index i, std::int64_t end_ns);
  void OnTransfer(const TransferTimes& times);
  bool InputsReady(Graph::Index i);
  NodeState RunNodeChecked(Graph::Index i);
  void GiveUp(const Error& error) { GiveUp(error, error); }
  void NoteDue(std::int64_t deadline_ns);
  // 0 without limits.
  [[nodiscard]] std::int64_t EstimateNs(Graph::Index i) const;
  [[nodiscard]] std::string NameOf(Graph::Index i) const;
  Status AwaitTransfers();
  Result<IterationResult> Collect(std::int32_t iteration, bool warmup, std::int64_t begin_ns);

  const Graph& graph_;
  const Plan& plan_;
  const ReplayOptions& options_;
  Communicator& communicator_;
  std::vector<std::unique_ptr<PreparedLaunch>> launches_;  // by node: launch_begin_[i] to [i + 1]
  std::vector<std::uint32_t> launch_begin_;
  std::unique_ptr<ValueCheck> value_check_;  // null: nothing is counted
  std::vector<bool> counts_itself_;          // by node: a launch does, with value_check_
  std::vector<ActorState> actors_;
  std::vector<std::int64_t> done_ns_;  // by node; written before the scheduler releases successors
  std::vector<EventPtr> events_;       // by node; stream nodes that another actor still waits for
  std::vector<std::atomic<std::uint32_t>> event_users_;  // by node; how many still will
  std::mutex transfer_mutex_;
  std::vector<NodeRecord> transfer_records_;
  std::int32_t iteration_ = 0;
  std::atomic<bool> failing_ = false;
  mutable std::mutex error_mutex_;
  std::optional<Error> error_;
  std::optional<DeviceLimits> limits_;
  double slowdown_ = 1;  // for sharing the device
  std::atomic<bool> running_ = false;
  std::atomic<std::int32_t> runs_ = 0;  // iterations begun
  std::atomic<std::int64_t> due_ns_ = 0;
  std::atomic<Graph::Index> last_transfer_ = kNoNode;
  std::vector<Graph::Index> seen_;  // by actor, then transfers: what GetProgress saw last
  std::atomic<Graph::Index> newest_ = kNoNode;
  Scheduler scheduler_;
  // Last: its thread calls back into everything above.
  std::unique_ptr<CommThread> comm_;
};

}  // namespace reprise
