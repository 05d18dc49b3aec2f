#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/shown_text.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/shapes_text.h"
#include "replayer/plan/training_phases.h"
#include "report/recordings/read.h"

namespace reprise {
namespace {

using Index = Graph::Index;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

bool NamesTf32(std::string_view kernel) {
  return kernel.find("tf32") != std::string_view::npos ||
         kernel.find("TF32") != std::string_view::npos ||
         kernel.find("_s1688") != std::string_view::npos;
}

class RankReader {
 public:
  explicit RankReader(const Graph& graph)
      : graph_(graph), phases_(FindPhases(graph)), operation_of_(graph.size(), kNone) {}

  Result<RankRecording> Read() {
    const TraceMetadata& metadata = graph_.metadata();
    rank_.rank = metadata.rank;
    rank_.device = metadata.machine.device;
    rank_.processor = metadata.machine.processor;
    rank_.host = ShownText(metadata.placement.host);
    rank_.placement = metadata.placement;
    rank_.steps = std::max<std::int32_t>(1, static_cast<std::int32_t>(metadata.steps.size()));
    for (const auto& [name, count] : metadata.diagnostics) {
      rank_.overlap_ns += name == "stream_overlap_ns" ? static_cast<std::int64_t>(count) : 0;
    }
    for (Index i = 0; i < graph_.size(); ++i) {
      if (graph_.device_work(i) == nullptr && graph_.comm(i) == nullptr) {
        AddCall(i);
      }
    }
    for (Index i = 0; i < graph_.size(); ++i) {
      if (graph_.device_work(i) != nullptr) {
        AddDeviceEvent(i);
      } else if (graph_.comm(i) != nullptr) {
        AddTransfer(i);
      }
    }
    REPRISE_TRY(Describe());
    FillModulePaths(graph_, rank_.operations);
    CountWeights(graph_, rank_);
    Finish();
    return std::move(rank_);
  }

 private:
  struct Draft {
    bool works = false;        // an operator that ran on the host itself
    std::int64_t host_ns = 0;  // of its own
    Index longest = 0;         // device event
    std::int64_t longest_ns = -1;
    Index arguments = 0;  // the node that has them
    bool described = false;
  };

  [[nodiscard]] std::int64_t EndNs(Index i) const {
    return graph_.start_ns(i) + graph_.duration_ns(i);
  }

  // A call is cut where it launches: its pieces have one record-function id, or follow each other
  // without a gap.
  [[nodiscard]] std::uint32_t CallOf(Index i) {
    const std::int64_t thread = graph_.actor(i).id;
    if (graph_.rf_id(i) >= 0) {
      const auto [at, added] = calls_.try_emplace({thread, graph_.rf_id(i)}, kNone);
      if (!added && graph_.name(i) == rank_.operations[at->second].name) {
        return at->second;
      }
      return at->second = Begin(i);
    }
    const auto before = last_of_thread_.find(thread);
    if (before != last_of_thread_.end()) {
      const Index last = before->second;
      if (graph_.name(last) == graph_.name(i) && graph_.parent(last) == graph_.parent(i) &&
          graph_.delay_ns(i) == 0 && EndNs(last) == graph_.start_ns(i) &&
          graph_.op_class(i) == OpClass::kHost) {
        return operation_of_[last];
      }
    }
    return Begin(i);
  }

  std::uint32_t Begin(Index i) {
    rank_.operations.push_back({.name = std::string(graph_.name(i)),
                                .caller = CallerOf(i),
                                .op_class = graph_.op_class(i),
                                .phase = phases_[i],
                                .thread = graph_.actor(i).id,
                                .step = std::max(graph_.step(i), 0),
                                .start_ns = graph_.start_ns(i),
                                .end_ns = EndNs(i),
                                .node_id = graph_.id(i)});
    drafts_.emplace_back();
    return static_cast<std::uint32_t>(rank_.operations.size() - 1);
  }

  // Steps have other numbers in other captures.
  [[nodiscard]] std::string CallerOf(Index i) const {
    const std::string_view parent = graph_.parent(i);
    return parent.starts_with("ProfilerStep#") ? std::string() : std::string(parent);
  }

  void AddCall(Index i) {
    const std::uint32_t at = CallOf(i);
    operation_of_[i] = at;
    last_of_thread_[graph_.actor(i).id] = i;
    RecordedOperation& of = rank_.operations[at];
    Draft& draft = drafts_[at];
    of.end_ns = std::max(of.end_ns, EndNs(i));
    if (graph_.kind(i) == OpKind::kWork && graph_.op_class(i) != OpClass::kHost &&
        graph_.op_class(i) != OpClass::kMetadata) {
      draft.works = true;
      draft.host_ns += graph_.duration_ns(i);
      draft.arguments = i;
      of.op_class = graph_.op_class(i);
      slices_.push_back({{BusySlice::Lane::kHost, graph_.start_ns(i), EndNs(i), of.op_class}, 0});
    }
  }

  // The piece of a call that launched a device event; kNone: not recorded.
  [[nodiscard]] Index LauncherOf(Index i) const {
    const auto reasons = graph_.reasons(i);
    const auto launch = std::ranges::find(reasons, EdgeReason::kLaunch);
    return launch == reasons.end() ? kNone : graph_.deps(i)[launch - reasons.begin()];
  }

  void AddDeviceEvent(Index i) {
    const CommSpec* comm = graph_.comm(i);
    const OpClass op_class = comm != nullptr ? OpClass::kComm : graph_.op_class(i);
    const Index launcher = LauncherOf(i);
    slices_.push_back({{BusySlice::Lane::kDevice, graph_.start_ns(i), EndNs(i), op_class},
                       launcher == kNone ? INT64_MIN : EndNs(launcher)});
    ++rank_.device_events;
    rank_.device_ns += graph_.duration_ns(i);
    std::uint32_t at = launcher == kNone ? kNone : operation_of_[launcher];
    if (at == kNone && (!graph_.op(i).empty() || HasOwnClass(op_class))) {
      at = Begin(i);
      rank_.operations.back().thread = kStreamThread;
    }
    if (at == kNone) {
      ++rank_.early_count;
      rank_.early_ns += graph_.duration_ns(i);
      return;
    }
    RecordedOperation& of = rank_.operations[at];
    Draft& draft = drafts_[at];
    if (!of.on_device) {
      // The runtime's wrapper stands for itself only where no operator called it.
      of.name = graph_.op(i).empty() ? of.name : std::string(graph_.op(i));
      of.on_device = true;
      of.op_class = op_class;
    }
    of.end_ns = std::max(of.end_ns, EndNs(i));
    of.time_ns += graph_.duration_ns(i);
    of.tf32 = of.tf32 || NamesTf32(graph_.name(i));
    ++of.kernels;
    if (of.op_class == OpClass::kMemcpy || comm != nullptr) {
      of.op_class = op_class;  // the operator's class, where a fill came first
    }
    if (comm != nullptr) {
      of.transfer = true;
      of.phase = Phase::kCommunication;
      of.shape = TransferText(*comm);
      of.waited_ns += WaitedNs(i);
    }
    const bool has_arguments = graph_.num_ops(i) >= 0 || graph_.tensor_bytes(i) >= 0;
    if (graph_.duration_ns(i) > draft.longest_ns || has_arguments) {
      draft.longest_ns = graph_.duration_ns(i);
      draft.longest = i;
      draft.arguments = i;
    }
  }

  // What the converter gives an operator's work; a kernel alone has none of these.
  static bool HasOwnClass(OpClass op_class) {
    return op_class != OpClass::kOther && op_class != OpClass::kMemcpy;
  }

  [[nodiscard]] std::int64_t WaitedNs(Index i) const {
    return graph_.transfer_ns(i) < 0
               ? 0
               : std::max<std::int64_t>(graph_.duration_ns(i) - graph_.transfer_ns(i), 0);
  }

  // A transfer beside the threads. The call that issued it only prepares.
  void AddTransfer(Index i) {
    const CommSpec& comm = *graph_.comm(i);
    slices_.push_back(
        {{BusySlice::Lane::kTransfer, graph_.start_ns(i), EndNs(i), OpClass::kComm}, 0});
    const std::int64_t waited_ns = WaitedNs(i);
    rank_.operations.push_back({.name = std::string(graph_.name(i)),
                                .caller = std::string(graph_.parent(i)),
                                .shape = TransferText(comm),
                                .op_class = OpClass::kComm,
                                .phase = Phase::kCommunication,
                                .transfer = true,
                                .thread = kTransferThread,
                                .step = std::max(graph_.step(i), 0),
                                .start_ns = graph_.start_ns(i),
                                .end_ns = EndNs(i),
                                .time_ns = graph_.duration_ns(i) - waited_ns,
                                .waited_ns = waited_ns,
                                .node_id = graph_.id(i)});
    drafts_.push_back({.described = true});
  }

  // Shapes, types and costs of what stays.
  Status Describe() {
    for (std::size_t k = 0; k < drafts_.size(); ++k) {
      RecordedOperation& of = rank_.operations[k];
      const Draft& draft = drafts_[k];
      if (draft.described || (!draft.works && !of.on_device)) {
        continue;
      }
      if (!of.on_device) {
        of.time_ns = draft.host_ns;
      }
      const Index i = draft.arguments;
      REPRISE_ASSIGN(const OpCall call, graph_.Call(i));
      of.dtype = ElementType(call);
      of.shape = of.transfer ? of.shape : InputShapesText(call);
      of.flops = static_cast<double>(std::max<std::int64_t>(graph_.num_ops(i), 0));
      of.bytes = static_cast<double>(std::max<std::int64_t>(graph_.tensor_bytes(i), 0));
    }
    return {};
  }

  void Finish() {
    std::vector<RecordedOperation> kept;
    for (std::size_t k = 0; k < drafts_.size(); ++k) {
      if (drafts_[k].works || rank_.operations[k].on_device || rank_.operations[k].transfer) {
        kept.push_back(std::move(rank_.operations[k]));
      }
    }
    rank_.device_ns += rank_.overlap_ns;
    const std::vector<std::int64_t> launched_ns =
        TakeSorted(std::move(kept), std::move(slices_), rank_);
    std::int64_t last_ns = 0;
    for (const BusySlice& slice : rank_.slices) {
      last_ns = std::max(last_ns, slice.end_ns);
    }
    std::vector<StepWindow> windows;
    for (const Step& step : graph_.metadata().steps) {
      windows.push_back({step.start_ns, step.start_ns + step.duration_ns});
    }
    if (windows.empty()) {
      windows.push_back({rank_.slices.empty() ? 0 : rank_.slices.front().start_ns, last_ns});
    }
    rank_.first_step_ns = windows.front().start_ns;
    for (const StepWindow& window : windows) {
      rank_.step_ns.push_back(window.end_ns - window.start_ns);
    }
    MeasureActivity(windows, launched_ns, rank_);
  }

  const Graph& graph_;
  std::vector<Phase> phases_;
  std::vector<std::uint32_t> operation_of_;                               // by node
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> calls_;  // thread, function id
  std::unordered_map<std::int64_t, Index> last_of_thread_;
  std::vector<Draft> drafts_;  // parallel to operations
  std::vector<LaunchedSlice> slices_;
  RankRecording rank_;
};

}  // namespace

std::string TransferText(const CommSpec& comm) {
  return comm.bytes_known
             ? fmt::format("{} {} B", Name(comm.kind), std::max(comm.in_bytes, comm.out_bytes))
             : fmt::format("{} of unknown size", Name(comm.kind));
}

Result<RankRecording> RecordingOfRank(const Graph& graph) { return RankReader(graph).Read(); }

Result<RecordedJob> ReadTraceRecording(const std::string& path) {
  namespace fs = std::filesystem;
  RecordedJob recording{.path = path};
  std::vector<Graph> graphs;
  std::error_code code;
  if (fs::is_directory(path, code)) {
    REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(path));
    REPRISE_TRY(set.CheckRankByRank("compare aligns the operations of every rank",
                                    "simulate the sets, and compare the runs"));
    recording.world_size = set.world_size;
    if (!set.missing.empty()) {
      recording.notes.push_back(set.MissingRanks());
    }
    for (const auto& [rank, file] : set.RankPaths()) {
      REPRISE_ASSIGN(Graph graph, Graph::Load(file));
      graphs.push_back(std::move(graph));
    }
  } else {
    REPRISE_ASSIGN(Graph graph, Graph::Load(path));
    recording.world_size = graph.metadata().world_size;
    graphs.push_back(std::move(graph));
  }
  std::vector<const Graph*> all;
  for (const Graph& graph : graphs) {
    REPRISE_ASSIGN(RankRecording rank, RecordingOfRank(graph));
    recording.ranks.push_back(std::move(rank));
    all.push_back(&graph);
  }
  if (!graphs.empty()) {
    recording.about = graphs.front().metadata().source;
  }
  recording.critical_path = CriticalPathOf(all);
  return recording;
}

}  // namespace reprise
