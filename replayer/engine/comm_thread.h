// One communication thread per rank: issues transfers in the order of their sequence, moves data
// between device and host memory, and makes progress while kernels run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/matching/sequences.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "replayer/engine/linked_transfer.h"
#include "replayer/engine/pipelined_transfer.h"
#include "replayer/engine/poll_wait.h"
#include "replayer/engine/rank_state.h"
#include "replayer/engine/staging.h"
#include "replayer/memory/device_memory.h"
#include "replayer/plan/plan.h"

namespace reprise {

// A transfer's begin and end as this rank saw them (MonotonicNs).
struct TransferTimes {
  Graph::Index node = 0;
  std::int64_t issued_ns = 0;
  std::int64_t ended_ns = 0;
};

// A process group of the trace on this rank.
struct RankGroup {
  std::vector<std::int32_t> ranks;  // global, in group order
  std::unique_ptr<GroupComm> comm;
};
using RankGroups = std::map<std::string, RankGroup>;  // by CommSpec::group

struct CommThreadOptions {
  bool check = false;
  // Longer transfers pass between device and network in chunks of this size, the same on every
  // rank (CutOf decides which transfers); 0: in one piece. Without effect with --check: no data
  // comes from a device, and what is filled and verified lies in the areas as the kind itself lays
  // it out.
  std::int64_t chunk_bytes = 0;
  // This rank's transfers as matched across ranks (splits completed), parallel to Plan::transfers.
  std::vector<PlannedTransfer> transfers;
  // Transfers that do not pass through the host; null: none. Outlives the thread.
  DeviceLinks* links = nullptr;
};

class CommThread {
 public:
  struct Callbacks {
    // The transfer is over and its data on the device. From the communication thread.
    std::function<void(const TransferTimes&)> done;
    // First failure, own or another rank's; nothing is issued any more.
    std::function<void(const Error&)> failed;
    // True once everything that the node waits for on the device has finished.
    std::function<bool(Graph::Index)> inputs_ready;
    // A transfer that only takes time ends then (MonotonicNs).
    std::function<void(std::int64_t)> ends_at;
  };

  // `groups`: by group id, groups of which this rank is a member. `memory` may be null (nothing on
  // a device: zeros are sent). All references must outlive the thread.
  static Result<std::unique_ptr<CommThread>> Create(const Graph& graph, const Plan& plan,
                                                    Communicator& communicator, RankGroups& groups,
                                                    const DeviceMemory* memory, Device* device,
                                                    CommThreadOptions options, Callbacks callbacks);
  ~CommThread();

  // Before each iteration: sequences start over.
  void BeginIteration();
  // The node's dependencies are done; it is issued at `earliest_ns` or when its turn has come.
  void Submit(Graph::Index node, std::int64_t earliest_ns);
  // Whether transfers are under way; after the iteration's last node those are sends that were over
  // for the trace without their receives. From any thread.
  [[nodiscard]] bool IsBusy() const;
  // Where each sequence stands: what is issued but not over, then what is to be issued next. From
  // any thread.
  [[nodiscard]] std::vector<SequenceState> Sequences() const;
  // Transfers verified by --check so far.
  [[nodiscard]] std::int64_t checked() const { return checked_.load(); }

 private:
  struct Sequence {
    std::vector<Graph::Index> nodes;  // in order of issue
    std::size_t next = 0;
    std::optional<Graph::Index> starting;  // the last that starts in steps
  };
  struct Outstanding {
    Graph::Index node = 0;
    std::int64_t issued_ns = 0;
    std::int64_t release_ns = 0;  // timed mode: not over before
    // Of a send that ends without its receive: when it is over for the trace, and whether it is
    // said to be. The transfer itself may last longer.
    std::optional<std::int64_t> report_ns = {};
    bool reported = false;
    std::unique_ptr<Transfer> transfer = nullptr;
    Staging* staging = nullptr;
    // `transfer`, where it moves data from and to the device itself.
    const DeviceSideTransfer* device_side = nullptr;
  };

  CommThread(const Graph& graph, const Plan& plan, Communicator& communicator, RankGroups& groups,
             CommThreadOptions options, Callbacks callbacks);
  Status PrepareTransfers(const DeviceMemory* memory, Device* device);
  void Loop();
  Status Turn();
  bool WaitForWork();
  Status IssueReady();
  Status Issue(Graph::Index node);
  Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec, GroupComm& group,
                                          const Outstanding& outstanding) const;
  // One that moves data from and to the device itself; null: the node's is not such a one.
  [[nodiscard]] std::unique_ptr<DeviceSideTransfer> DeviceSide(Graph::Index node,
                                                               const CommSpec& spec);
  [[nodiscard]] bool IsLinked(Graph::Index node) const;
  // How the node's transfer is cut; nothing: it moves whole.
  [[nodiscard]] std::optional<TransferCut> Cut(Graph::Index node) const;
  [[nodiscard]] bool LastHasStarted(const Sequence& sequence) const;
  Status TestOutstanding();
  Status Finish(Outstanding& outstanding);
  Status Check(const Outstanding& outstanding);
  Status PollOthers();

  const Graph& graph_;
  const Plan& plan_;
  Communicator& communicator_;
  RankGroups& groups_;
  CommThreadOptions options_;
  Callbacks callbacks_;
  std::unique_ptr<Stream> stream_;
  std::map<Graph::Index, Staging> staging_;
  std::map<std::string, Sequence> sequences_;
  std::map<Graph::Index, CommSpec> specs_;

  mutable std::mutex mutex_;  // guards submitted_, described state, stop_
  std::condition_variable changed_;
  std::map<Graph::Index, std::int64_t> submitted_;  // node → earliest_ns
  std::vector<Outstanding> outstanding_;
  PollWait poll_wait_;
  bool stop_ = false;
  bool failed_ = false;
  std::int64_t next_poll_ns_ = 0;
  std::atomic<std::int64_t> checked_ = 0;
  std::thread thread_;
};

}  // namespace reprise
