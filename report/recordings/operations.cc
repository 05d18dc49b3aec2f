#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "core/median.h"
#include "core/text_in.h"
#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"
#include "report/recordings/inference.h"
#include "report/recordings/read.h"
#include "report/recordings/run_power.h"

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

// One rank: each node with the medians of its records, times from the first step's start of its
// iteration on.
class RunRankReader {
 public:
  RunRankReader(const RunData& run, const RankData& data, const TransferWaits& waits)
      : run_(run), data_(data), waits_(waits) {}

  RankRecording Read() {
    rank_.rank = data_.rank;
    // Of a simulated run it is where the simulation was computed.
    rank_.host = IsModelled(data_) ? "" : data_.host;
    rank_.alike = RanksAlike(data_);
    rank_.members = data_.facts.class_members;
    rank_.processor = data_.facts.processor;
    const auto index = static_cast<std::size_t>(data_.rank);
    rank_.device = index < run_.manifest.devices.size() ? run_.manifest.devices[index] : "";
    rank_.placement.host = data_.host;
    for (const RunDevice& device : data_.devices) {
      if (!device.pci_bus_id.empty()) {
        rank_.placement.pci_bus_id = device.pci_bus_id;
        rank_.placement.device = device.placement;
      }
    }
    rank_.placement.process_numa_nodes = data_.facts.numa_nodes;
    rank_.placement.memory_numa_nodes = data_.facts.memory_numa_nodes;
    FindIterations();
    FindTimes();
    for (const std::size_t k : ByStart()) {
      AddNode(k);
    }
    AddLaunches();
    Finish();
    return std::move(rank_);
  }

 private:
  struct Times {
    std::int64_t start_ns = 0, duration_ns = 0;
    bool ran = false;
  };

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

  // Runs keep no record-function ids: pieces of a call follow each other under one name.
  void AddNode(std::size_t k) {
    const NodeInfo& node = data_.nodes[k];
    const auto thread = ThreadNumber(node.actor);
    if (!thread && node.kind == OpKind::kComm && !node.actor.starts_with("stream")) {
      AddTransfer(node, times_[k]);
      return;
    }
    if (!thread) {
      return;
    }
    const auto last = last_of_thread_.find(*thread);
    const bool piece = last != last_of_thread_.end() &&
                       data_.nodes[last->second].name == node.name &&
                       node.op_class == OpClass::kHost && node.recorded_delay_ns == 0;
    if (!piece) {
      Begin(node, *thread, times_[k]);
    }
    operation_of_[k] = piece ? operation_of_.at(last->second) : rank_.operations.size() - 1;
    last_of_thread_[*thread] = k;
    if (node.kind == OpKind::kWork && node.op_class != OpClass::kHost &&
        node.op_class != OpClass::kMetadata) {
      RecordedOperation& of = rank_.operations[operation_of_[k]];
      of.op_class = node.op_class;
      of.time_ns = times_[k].duration_ns;
      works_[operation_of_[k]] = true;
      slices_.push_back({{BusySlice::Lane::kHost, times_[k].start_ns,
                          times_[k].start_ns + times_[k].duration_ns, node.op_class},
                         0});
    }
  }

  void Begin(const NodeInfo& node, std::int64_t thread, const Times& times) {
    rank_.operations.push_back({.name = node.name,
                                .shape = node.shape,
                                .op_class = node.op_class,
                                .phase = node.phase,
                                .thread = thread,
                                .step = std::max(node.step, 0),
                                .start_ns = node.recorded_start_ns,
                                .end_ns = times.start_ns + times.duration_ns,
                                .flops = node.flops,
                                .bytes = node.bytes,
                                .node_id = node.node_id});
    works_.push_back(false);
  }

  void AddTransfer(const NodeInfo& node, const Times& times) {
    const auto found = waits_.find({data_.rank, node.node_id});
    const auto comm = transfers_.find(node.node_id);
    const std::int64_t waited_ns = found == waits_.end() ? 0 : found->second;
    slices_.push_back({{BusySlice::Lane::kTransfer, times.start_ns,
                        times.start_ns + times.duration_ns, OpClass::kComm},
                       0});
    rank_.operations.push_back(
        {.name = node.name,
         .shape = comm == transfers_.end() ? std::string() : TransferText(comm->second->spec),
         .op_class = OpClass::kComm,
         .phase = Phase::kCommunication,
         .transfer = true,
         .thread = kTransferThread,
         .step = std::max(node.step, 0),
         .start_ns = node.recorded_start_ns,
         .end_ns = times.start_ns + times.duration_ns,
         .time_ns = times.duration_ns - waited_ns,
         .waited_ns = waited_ns,
         .node_id = node.node_id});
    works_.push_back(true);
  }

  void AddLaunches() {
    std::unordered_map<std::uint64_t, std::uint64_t> launcher;
    for (const EdgeInfo& edge : data_.edges) {
      if (edge.reason == "launch") {
        launcher.emplace(edge.to, edge.from);
      }
    }
    for (std::size_t k = 0; k < data_.nodes.size(); ++k) {
      const NodeInfo& node = data_.nodes[k];
      if (!node.actor.starts_with("stream")) {
        continue;
      }
      const auto from = launcher.find(node.node_id);
      const auto place = from == launcher.end() ? place_.end() : place_.find(from->second);
      const auto at =
          place == place_.end() ? operation_of_.end() : operation_of_.find(place->second);
      const Times& times = times_[k];
      const std::int64_t end_ns = times.start_ns + times.duration_ns;
      const bool comm = transfers_.contains(node.node_id);
      const OpClass op_class = comm ? OpClass::kComm : node.op_class;
      const bool launch_known = place != place_.end() && times_[place->second].ran;
      slices_.push_back({{BusySlice::Lane::kDevice, times.start_ns, end_ns, op_class},
                         launch_known
                             ? times_[place->second].start_ns + times_[place->second].duration_ns
                             : INT64_MIN});
      ++rank_.device_events;
      rank_.device_ns += times.duration_ns;
      const bool own =
          at == operation_of_.end() && op_class != OpClass::kOther && op_class != OpClass::kMemcpy;
      if (own) {
        Begin(node, kStreamThread, times);
      } else if (at == operation_of_.end()) {
        ++rank_.early_count;
        rank_.early_ns += times.duration_ns;
        continue;
      }
      RecordedOperation& of = own ? rank_.operations.back() : rank_.operations[at->second];
      if (!of.on_device || of.op_class == OpClass::kMemcpy || comm) {
        of.op_class = op_class;
      }
      of.on_device = true;
      of.transfer = of.transfer || comm;
      of.time_ns += times.duration_ns;
      of.end_ns = std::max(of.end_ns, end_ns);
      ++of.kernels;
      if (of.shape.empty() || node.flops + node.bytes > of.flops + of.bytes) {
        of.shape = node.shape;
        of.flops = node.flops;
        of.bytes = node.bytes;
      }
    }
  }

  void Finish() {
    std::vector<RecordedOperation> kept;
    for (std::size_t k = 0; k < rank_.operations.size(); ++k) {
      if (works_[k] || rank_.operations[k].on_device) {
        kept.push_back(std::move(rank_.operations[k]));
      }
    }
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
  std::unordered_map<std::size_t, std::size_t> operation_of_;  // by node's place
  std::unordered_map<std::int64_t, std::size_t> last_of_thread_;
  std::vector<bool> works_;  // parallel to operations
  std::vector<LaunchedSlice> slices_;
  RankRecording rank_;
};

}  // namespace

Result<RecordedJob> RecordingOfRun(const RunData& run) {
  RecordedJob recording{.run = true, .world_size = run.manifest.world_size, .notes = run.notes};
  const std::string mode = TextIn(run.manifest.options, "mode", "run");
  recording.about = fmt::format("{} of {}", mode, run.manifest.trace_name);
  if (mode == kMonitorMode) {
    return BadInput("the run watched a program and replayed no trace: it has no operations");
  }
  const TransferWaits waits = WaitsOf(run);
  for (const RankData& data : run.ranks) {
    recording.ranks.push_back(RunRankReader(run, data, waits).Read());
    if (recording.ranks.back().steps == 0) {
      return BadInput(fmt::format("rank {} finished no iteration", data.rank));
    }
  }
  recording.power_peaks = FindPowerPeaks(run);
  if (!recording.ranks.empty()) {
    if (const auto phases = FindInference(recording.ranks.front())) {
      for (const auto& [kind, energy] : EnergyOfPasses(run, recording.ranks.front(), *phases)) {
        recording.phase_energy.push_back({std::string(Name(kind)), energy.joules, energy.tokens});
      }
    }
  }
  return recording;
}

Result<RecordedJob> ReadRunRecording(const std::string& directory) {
  REPRISE_ASSIGN(const RunData run, ReadRun(directory));
  auto recording = RecordingOfRun(run);
  if (!recording) {
    return BadInput(directory + ": " + recording.error().message);
  }
  recording->path = directory;
  return recording;
}

}  // namespace reprise
