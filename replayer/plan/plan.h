// From a trace to work: what each node will be, before any device or rank is involved.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/records.h"
#include "core/result.h"
#include "core/timing/steps.h"
#include "et_schema/graph.h"
#include "replayer/plan/dependency_graph.h"
#include "replayer/plan/known_work.h"
#include "replayer/plan/options.h"

namespace reprise {

enum class WorkType : std::uint8_t {
  kHost,      // metadata, issuing pieces: time on a host thread, nothing to execute
  kWait,      // the host waits: for the device, for a transfer
  kCompute,   // an operation for the device
  kTransfer,  // for the communication thread
};

struct Work {
  WorkType type = WorkType::kHost;
  ReplayMode mode = ReplayMode::kReal;
  const Kernel* kernel = nullptr;  // compute in real mode; none: a copy of memory
  Cost cost;
  DType dtype = DType::kUnknown;          // that it computes with
  WorkSource source = WorkSource::kNone;  // of `cost`
  bool exact = false;                     // `cost` is a kernel's of this very call
  bool capped = false;                    // `cost` was cut: implausible in the recorded time
  bool no_elements = false;               // runs, with nothing to launch
  std::uint32_t actor = 0;                // index into Plan::actors
  std::int64_t gap_ns = 0;                // delay before the node, after --host-gaps
  std::int64_t host_ns = 0;               // time the node itself takes without executing anything
  double stretch = 1;               // an executed node of a thread lasts so many times as long
  std::int32_t step = 0;            // −1: outside the steps
  std::uint32_t shapes = 0;         // index into Plan::shapes
  std::uint32_t part_of = kNoPart;  // the node that does all of this one's operation
  bool joins = false;     // waits for another actor: the thread's time is settled before it
  bool releases = false;  // settled after it: another actor waits for it, or it is stretched
  bool counts = false;    // in coverage's denominator
  bool alone = false;     // a transfer whose other side is not replayed: recorded time

  static constexpr std::uint32_t kNoPart = UINT32_MAX;
  // Another kernel's node is all of its operation. Where that one executes, this one launches
  // nothing and takes no time.
  [[nodiscard]] bool IsPart() const { return part_of != kNoPart; }

  // On a device.
  [[nodiscard]] bool Computes() const { return type == WorkType::kCompute && Executes(mode); }
};

struct PlanActor {
  Actor::Kind kind = Actor::Kind::kThread;
  std::string name;  // "thread 1", "stream 0/7", "group 0", "send 0 to 2"
};

// Indices are Graph indices throughout.
struct Plan {
  std::vector<Work> work;
  std::vector<PlanActor> actors;
  std::vector<std::string> shapes = {""};  // each once, of operations' inputs: "[8,64] [64,64]"
  std::vector<std::uint32_t> dep_offset;   // trace edges plus order within threads and streams
  std::vector<std::uint32_t> deps;
  DependencyGraph dependencies;
  StepFrame frame;                   // after --host-gaps
  std::int64_t before_steps_ns = 0;  // from the replay's begin to the first step's: work outside it
  bool work_after_steps = false;     // nodes outside the steps end after the last one
  std::vector<Graph::Index> transfers;  // by recorded start; of one sequence by CommSpec::index
  Diagnostics diagnostics;              // surrogate_no_kernel per operator, …

  [[nodiscard]] std::span<const std::uint32_t> DepsOf(Graph::Index i) const {
    return {deps.data() + dep_offset[i], deps.data() + dep_offset[i + 1]};
  }
};

// A transfer that lacks something (LacksOf) is not carried out but takes its recorded time
// (`transfer_lacks`). Bad input: an operation whose arguments can't be decoded; a transfer that is
// to be carried out and lacks nothing but its group (unless options.assume_groups). Environment:
// none.
[[nodiscard]] Result<Plan> BuildPlan(const Graph& graph, const PlanOptions& options,
                                     const FindKernel& find_kernel = {});

// A transfer's own time is what remains once all members have arrived; where they never do, what
// was recorded includes them. Of any other node, its duration.
[[nodiscard]] std::int64_t RecordedWorkNs(const Graph& graph, Graph::Index i, const Work& work);

// A node that was to run has nothing to launch: its stream or thread is held for the recorded time
// instead.
void HoldForRecordedTime(const Graph& graph, Graph::Index i, const PlanOptions& options,
                         Plan& plan);

// The plan's entry of each node, for the run on disk. `name_of` may be empty where no node has a
// kernel.
using NameOfKernel = std::function<std::string_view(const Kernel& kernel)>;
[[nodiscard]] std::vector<NodeInfo> DescribeNodes(const Graph& graph, const Plan& plan,
                                                  const NameOfKernel& name_of = {});
[[nodiscard]] std::vector<EdgeInfo> DescribeEdges(const Graph& graph);

}  // namespace reprise
