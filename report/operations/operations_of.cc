// A run's, or a trace set's, nodes as operations: each call with all that it launched.
#include "report/operations/operations_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "core/median.h"
#include "core/shown_text.h"
#include "core/text_in.h"
#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"
#include "report/operations/inference.h"
#include "report/operations/run_power.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

// What each member of a transfer waited for the last one to arrive: by rank and node, the median
// over iterations of its duration less its own time (report/nodes/transfers.h).
using TransferWaits = std::map<std::pair<std::int32_t, std::uint64_t>, std::int64_t>;

TransferWaits WaitsOf(const RunData& run) {
  std::vector<MeasuredRank> ranks;
  ranks.reserve(run.ranks.size());
  for (const RankData& data : run.ranks) {
    ranks.emplace_back(data);
  }
  const TransferSummary transfers = SummarizeTransfers(ranks);
  TransferWaits waits;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankData& data = ranks[r].data();
    for (const CollectiveInfo& info : data.collectives) {
      const auto node = ranks[r].FindNode(info.node_id);
      if (!node) {
        continue;
      }
      std::vector<std::int64_t> waited_ns;
      for (const std::uint32_t record : ranks[r].Records(*node)) {
        if (const auto own_ns = transfers.OwnNs(r, record)) {
          waited_ns.push_back(
              std::max<std::int64_t>(data.records[record].duration_ns - *own_ns, 0));
        }
      }
      waits[{data.rank, info.node_id}] = Median(waited_ns).value_or(0);
    }
  }
  return waits;
}

// "thread 1" → 1; "stream 0/7", "group 0": not a thread.
std::optional<std::int64_t> ThreadNumber(const std::string& actor) {
  constexpr std::string_view kThread = "thread ";
  if (!actor.starts_with(kThread)) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  std::from_chars(actor.data() + kThread.size(), actor.data() + actor.size(), number);
  return number;
}

bool IsOfStream(const NodeInfo& node) { return node.actor.starts_with("stream"); }

bool NamesTf32(std::string_view kernel) {
  return kernel.find("tf32") != std::string_view::npos ||
         kernel.find("TF32") != std::string_view::npos ||
         kernel.find("_s1688") != std::string_view::npos;
}

// What the converter gives an operator's work; a kernel alone has none of these.
bool HasOwnClass(OpClass op_class) {
  return op_class != OpClass::kOther && op_class != OpClass::kMemcpy;
}

// "all_reduce 4096 B", in place of a transfer's shapes.
std::string TransferText(const CommSpec& comm) {
  return comm.bytes_known
             ? fmt::format("{} {} B", Name(comm.kind), std::max(comm.in_bytes, comm.out_bytes))
             : fmt::format("{} of unknown size", Name(comm.kind));
}

// One rank: each node with the medians of its records, times from the first step's start of its
// iteration on.
class RankReader {
 public:
  RankReader(const RunData& run, const RankData& data, const TransferWaits& waits)
      : run_(run), data_(data), waits_(waits), operation_of_(data.nodes.size(), kNone) {}

  RankOperations Read() {
    rank_.rank = data_.rank;
    // Of a simulated run it is where the simulation was computed.
    rank_.host = IsModelled(data_) ? "" : ShownText(data_.host);
    rank_.alike = RanksAlike(data_);
    rank_.members = data_.facts.class_members;
    rank_.processor = data_.facts.processor;
    rank_.weights = data_.weights;
    const auto index = static_cast<std::size_t>(data_.rank);
    rank_.device = index < run_.manifest.devices.size() ? run_.manifest.devices[index] : "";
    rank_.placement = data_.placement ? *data_.placement : PlacementOfRun();
    FindIterations();
    FindTimes();
    const std::vector<std::size_t> by_start = ByStart();
    for (const std::size_t k : by_start) {
      AddNode(k);
    }
    AddLaunches(by_start);
    Describe();
    Finish();
    return std::move(rank_);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct Times {
    std::int64_t start_ns = 0, duration_ns = 0;
    bool ran = false;
    [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
  };

  // Of an operation, while its nodes are added.
  struct Draft {
    bool works = false;         // an operator that ran on the host itself, or a transfer
    std::int64_t host_ns = 0;   // of its own
    std::size_t described = 0;  // the node that has its arguments
    std::pair<bool, std::int64_t> best{false, -1};  // what that one has, of device events
  };

  [[nodiscard]] RankPlacement PlacementOfRun() const {
    RankPlacement placement{.host = data_.host,
                            .process_numa_nodes = data_.facts.numa_nodes,
                            .memory_numa_nodes = data_.facts.memory_numa_nodes};
    for (const RunDevice& device : data_.devices) {
      if (!device.pci_bus_id.empty()) {
        placement.pci_bus_id = device.pci_bus_id;
        placement.device = device.placement;
      }
    }
    return placement;
  }

  [[nodiscard]] std::vector<std::size_t> ByStart() const {
    std::vector<std::size_t> order(data_.nodes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [this](std::size_t a, std::size_t b) {
      return data_.nodes[a].recorded_start_ns < data_.nodes[b].recorded_start_ns;
    });
    return order;
  }

  void FindIterations() {
    std::map<std::int32_t, std::vector<std::int64_t>> durations;  // by step
    std::map<std::int32_t, std::vector<std::int64_t>> starts;
    for (const StepRecord& step : data_.steps) {
      if (!step.warmup) {
        const auto [at, added] = begin_ns_.try_emplace(step.iteration, step.start_ns);
        at->second = std::min(at->second, step.start_ns);
      }
    }
    for (const StepRecord& step : data_.steps) {
      if (!step.warmup) {
        durations[step.step].push_back(step.duration_ns);
        starts[step.step].push_back(step.start_ns - begin_ns_.at(step.iteration));
      }
    }
    for (auto& [step, values] : durations) {
      rank_.step_ns.push_back(Median(values).value_or(0));
      const std::int64_t start = Median(starts[step]).value_or(0);
      windows_.push_back({start, start + rank_.step_ns.back()});
    }
    rank_.steps = static_cast<std::int32_t>(rank_.step_ns.size());
  }

  void FindTimes() {
    std::unordered_map<std::uint64_t,
                       std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>
        records;
    for (const NodeRecord& record : data_.records) {
      if (const auto begin = begin_ns_.find(record.iteration); begin != begin_ns_.end()) {
        records[record.node_id].first.push_back(record.start_ns - begin->second);
        records[record.node_id].second.push_back(record.duration_ns);
      }
    }
    times_.resize(data_.nodes.size());
    for (std::size_t k = 0; k < data_.nodes.size(); ++k) {
      const NodeInfo& node = data_.nodes[k];
      place_[node.node_id] = k;
      if (const auto found = records.find(node.node_id); found != records.end()) {
        times_[k] = {Median(found->second.first).value_or(0),
                     Median(found->second.second).value_or(0), true};
      }
    }
    for (const CollectiveInfo& transfer : data_.collectives) {
      transfers_[transfer.node_id] = &transfer;
    }
  }

  [[nodiscard]] const NodeOrigin& OriginOf(std::size_t k) const {
    static const NodeOrigin unknown;
    return data_.origins.empty() ? unknown : data_.origins[k];
  }

  [[nodiscard]] std::int64_t WaitedNs(std::size_t k) const {
    const auto found = waits_.find({data_.rank, data_.nodes[k].node_id});
    return found == waits_.end() ? 0 : found->second;
  }

  [[nodiscard]] std::string TransferTextOf(std::size_t k) const {
    const auto comm = transfers_.find(data_.nodes[k].node_id);
    return comm == transfers_.end() ? std::string() : TransferText(comm->second->spec);
  }

  void AddNode(std::size_t k) {
    const NodeInfo& node = data_.nodes[k];
    const auto thread = ThreadNumber(node.actor);
    if (!thread && node.kind == OpKind::kComm && !IsOfStream(node)) {
      AddTransfer(k);
      return;
    }
    if (!thread) {
      return;
    }
    const std::size_t at = operation_of_[k] = CallOf(k, *thread);
    last_of_thread_[*thread] = k;
    TimedOperation& of = rank_.operations[at];
    Draft& draft = drafts_[at];
    of.end_ns = std::max(of.end_ns, times_[k].end_ns());
    if (node.kind == OpKind::kWork && node.op_class != OpClass::kHost &&
        node.op_class != OpClass::kMetadata) {
      draft.works = true;
      draft.host_ns += times_[k].duration_ns;
      draft.described = k;
      of.op_class = node.op_class;
      slices_.push_back(
          {{BusySlice::Lane::kHost, times_[k].start_ns, times_[k].end_ns(), node.op_class}, 0});
    }
  }

  // A call is cut where it launches: its pieces have one number, or follow each other without a
  // gap under one name.
  std::size_t CallOf(std::size_t k, std::int64_t thread) {
    const NodeInfo& node = data_.nodes[k];
    const NodeOrigin& origin = OriginOf(k);
    if (origin.call_id >= 0) {
      const auto [at, added] = calls_.try_emplace({thread, origin.call_id}, kNone);
      if (!added && node.name == rank_.operations[at->second].name) {
        return at->second;
      }
      return at->second = Begin(k, thread);
    }
    const auto before = last_of_thread_.find(thread);
    if (before != last_of_thread_.end()) {
      const NodeInfo& last = data_.nodes[before->second];
      if (last.name == node.name && node.op_class == OpClass::kHost &&
          node.recorded_delay_ns == 0 && OriginOf(before->second).caller == origin.caller &&
          last.recorded_start_ns + last.recorded_elapsed_ns == node.recorded_start_ns) {
        return operation_of_[before->second];
      }
    }
    return Begin(k, thread);
  }

  std::size_t Begin(std::size_t k, std::int64_t thread) {
    const NodeInfo& node = data_.nodes[k];
    rank_.operations.push_back({.name = node.name,
                                .caller = OriginOf(k).caller,
                                .module = OriginOf(k).module,
                                .op_class = node.op_class,
                                .phase = node.phase,
                                .thread = thread,
                                .step = std::max(node.step, 0),
                                .start_ns = StartNs(k),
                                .end_ns = times_[k].end_ns(),
                                .node_id = node.node_id});
    drafts_.push_back({.described = k});
    return drafts_.size() - 1;
  }

  // What a replay keeps no record of, a host's part of a call, is where it was recorded.
  [[nodiscard]] std::int64_t StartNs(std::size_t k) const {
    return times_[k].ran ? times_[k].start_ns
                         : data_.nodes[k].recorded_start_ns - data_.facts.first_step_ns.value_or(0);
  }

  // A transfer beside the threads. The call that issued it only prepares.
  void AddTransfer(std::size_t k) {
    const std::int64_t waited_ns = WaitedNs(k);
    slices_.push_back(
        {{BusySlice::Lane::kTransfer, times_[k].start_ns, times_[k].end_ns(), OpClass::kComm}, 0});
    const std::size_t at = Begin(k, kTransferThread);
    TimedOperation& of = rank_.operations[at];
    of.shape = TransferTextOf(k);
    of.op_class = OpClass::kComm;
    of.phase = Phase::kCommunication;
    of.transfer = true;
    of.time_ns = times_[k].duration_ns - waited_ns;
    of.waited_ns = waited_ns;
    drafts_[at].works = true;
  }

  void AddLaunches(const std::vector<std::size_t>& by_start) {
    std::unordered_map<std::uint64_t, std::uint64_t> launcher;
    for (const EdgeInfo& edge : data_.edges) {
      if (edge.reason == "launch") {
        launcher.emplace(edge.to, edge.from);
      }
    }
    for (const std::size_t k : by_start) {
      if (!IsOfStream(data_.nodes[k])) {
        continue;
      }
      const auto from = launcher.find(data_.nodes[k].node_id);
      const auto place = from == launcher.end() ? place_.end() : place_.find(from->second);
      AddDeviceEvent(k, place == place_.end() ? kNone : place->second);
    }
  }

  // `launched_by`: a node of a thread; kNone: not recorded.
  void AddDeviceEvent(std::size_t k, std::size_t launched_by) {
    const NodeInfo& node = data_.nodes[k];
    const Times& times = times_[k];
    const bool comm = transfers_.contains(node.node_id);
    const OpClass op_class = comm ? OpClass::kComm : node.op_class;
    const bool launch_known = launched_by != kNone && times_[launched_by].ran;
    slices_.push_back({{BusySlice::Lane::kDevice, times.start_ns, times.end_ns(), op_class},
                       launch_known ? times_[launched_by].end_ns() : INT64_MIN});
    ++rank_.device_events;
    rank_.device_ns += times.duration_ns;
    std::size_t at = launched_by == kNone ? kNone : operation_of_[launched_by];
    if (at == kNone && (!OriginOf(k).op.empty() || HasOwnClass(op_class))) {
      at = Begin(k, kStreamThread);
    }
    if (at == kNone) {
      ++rank_.early_count;
      rank_.early_ns += times.duration_ns;
      return;
    }
    TimedOperation& of = rank_.operations[at];
    Draft& draft = drafts_[at];
    if (!of.on_device) {
      // The runtime's wrapper stands for itself only where no operator called it.
      of.name = OriginOf(k).op.empty() ? of.name : OriginOf(k).op;
      of.on_device = true;
      of.op_class = op_class;
    }
    of.end_ns = std::max(of.end_ns, times.end_ns());
    of.time_ns += times.duration_ns;
    of.tf32 = of.tf32 || NamesTf32(node.name);
    ++of.kernels;
    if (of.op_class == OpClass::kMemcpy || comm) {
      of.op_class = op_class;  // the operator's class, where a fill came first
    }
    if (comm) {
      of.transfer = true;
      of.phase = Phase::kCommunication;
      of.shape = TransferTextOf(k);
      of.waited_ns += WaitedNs(k);
    }
    // The longest of those that have arguments, where there are such.
    const std::pair described{!node.shape.empty() || node.work_from == WorkSource::kCounts,
                              times.duration_ns};
    if (described > draft.best) {
      draft.best = described;
      draft.described = k;
    }
  }

  // Shapes, types and costs of what stays.
  void Describe() {
    for (std::size_t at = 0; at < drafts_.size(); ++at) {
      TimedOperation& of = rank_.operations[at];
      const Draft& draft = drafts_[at];
      if (of.thread == kTransferThread || (!draft.works && !of.on_device)) {
        continue;
      }
      if (!of.on_device) {
        of.time_ns = draft.host_ns;
      }
      const NodeInfo& node = data_.nodes[draft.described];
      of.dtype = OriginOf(draft.described).dtype;
      of.shape = of.transfer ? of.shape : node.shape.str();
      of.flops = node.flops;
      of.bytes = node.bytes;
    }
  }

  void Finish() {
    std::vector<TimedOperation> kept;
    for (std::size_t at = 0; at < drafts_.size(); ++at) {
      if (drafts_[at].works || rank_.operations[at].on_device) {
        kept.push_back(std::move(rank_.operations[at]));
      }
    }
    for (const auto& [name, count] : data_.facts.trace_counters) {
      rank_.overlap_ns += IsRecorded(run_.manifest) && name == "stream_overlap_ns"
                              ? static_cast<std::int64_t>(count)
                              : 0;
    }
    rank_.device_ns += rank_.overlap_ns;
    MeasureActivity(windows_, TakeSorted(std::move(kept), std::move(slices_), rank_), rank_);
  }

  const RunData& run_;
  const RankData& data_;
  const TransferWaits& waits_;
  std::map<std::int32_t, std::int64_t> begin_ns_;  // by iteration
  std::vector<StepWindow> windows_;
  std::vector<Times> times_;  // parallel to nodes
  std::unordered_map<std::uint64_t, std::size_t> place_;
  std::unordered_map<std::uint64_t, const CollectiveInfo*> transfers_;
  std::vector<std::size_t> operation_of_;                               // parallel to nodes
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> calls_;  // thread, number
  std::unordered_map<std::int64_t, std::size_t> last_of_thread_;
  std::vector<Draft> drafts_;  // parallel to operations
  std::vector<LaunchedSlice> slices_;
  RankOperations rank_;
};

std::string AboutOf(const RunManifest& manifest) {
  return IsRecorded(manifest)
             ? TextIn(manifest.options, "source")
             : fmt::format("{} of {}", TextIn(manifest.options, "mode"), manifest.trace_name);
}

}  // namespace

Result<JobOperations> OperationsOf(const RunData& run) {
  if (IsMonitored(run.manifest)) {
    return BadInput("the run watched a program and replayed no trace: it has no operations");
  }
  JobOperations job{
      .about = AboutOf(run.manifest), .world_size = run.manifest.world_size, .notes = run.notes};
  const TransferWaits waits = WaitsOf(run);
  for (const RankData& data : run.ranks) {
    job.ranks.push_back(RankReader(run, data, waits).Read());
    if (job.ranks.back().steps == 0) {
      return BadInput(fmt::format("rank {} finished no iteration", data.rank));
    }
  }
  job.power_peaks = FindPowerPeaks(run);
  if (!job.ranks.empty()) {
    if (const auto phases = FindInference(job.ranks.front())) {
      for (const auto& [kind, energy] : EnergyOfPasses(run, job.ranks.front(), *phases)) {
        job.phase_energy.push_back({std::string(Name(kind)), energy.joules, energy.tokens});
      }
    }
  }
  return job;
}

}  // namespace reprise
