#include "replayer/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/nanoseconds.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/known_work.h"
#include "replayer/plan/pauses.h"
#include "replayer/plan/shapes_text.h"
#include "replayer/plan/work_cap.h"

namespace reprise {
namespace {

std::int64_t Scaled(std::int64_t ns, double factor) {
  return NsOf(static_cast<double>(ns) * factor);
}

std::string NameOf(const Actor& actor, const CommSpec* comm) {
  if (comm != nullptr) {
    return IsPointToPoint(comm->kind)
               ? fmt::format("{} {} in group {}", Name(comm->kind), comm->peer, comm->group)
               : fmt::format("group {}", comm->group);
  }
  if (actor.kind == Actor::Kind::kStream) {
    return fmt::format("stream {}/{}", actor.device, actor.id);
  }
  return fmt::format("thread {}", actor.id);
}

std::int64_t DurationNs(const Graph& graph, Graph::Index i, const PlanOptions& options) {
  const bool untraced = options.host_gaps == HostGaps::kUntraced;
  return graph.duration_ns(i) - (untraced ? graph.tracing_ns(i) : 0);
}

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& options, const FindKernel& find_kernel)
      : graph_(graph), options_(options), find_kernel_(find_kernel) {}

  Result<Plan> Build() {
    if (untraced() && graph_.metadata().tracing_call_ns == 0) {
      return UsageError(fmt::format(
          "--host-gaps untraced: the trace of rank {} has no estimate of what tracing took: it was "
          "captured without times, or converted by another program or version; --host-gaps keep "
          "replays the host times as recorded",
          graph_.metadata().rank));
    }
    pause_factor_ = options_.GapFactor() * (untraced() ? PauseFactor(graph_) : 1);
    plan_.work.resize(graph_.size());
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      REPRISE_TRY(PlanNode(i));
    }
    JoinParts();
    CapSurrogates(graph_, plan_);
    OrderSequences();
    FrameSteps();
    AddDependencies();
    MarkCrossings();
    REPRISE_TRY(CheckTimes());
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool untraced() const { return options_.host_gaps == HostGaps::kUntraced; }

  Status PlanNode(Graph::Index i) {
    Work& work = plan_.work[i];
    work.actor = ActorOf(i);
    work.step = StepOf(graph_, i);
    const std::int64_t tracing_ns = untraced() ? graph_.tracing_delay_ns(i) : 0;
    work.gap_ns = Scaled(std::max<std::int64_t>(graph_.delay_ns(i) - tracing_ns, 0), pause_factor_);
    if (graph_.comm(i) != nullptr) {
      return PlanTransfer(i, work);
    }
    const bool on_stream = graph_.actor(i).kind == Actor::Kind::kStream;
    if (on_stream || graph_.kind(i) == OpKind::kWork) {
      return PlanCompute(i, work);
    }
    work.type = graph_.kind(i) == OpKind::kWait ? WorkType::kWait : WorkType::kHost;
    const bool pauses = work.type == WorkType::kHost;
    work.host_ns =
        Scaled(DurationNs(graph_, i, options_), pauses ? pause_factor_ : options_.GapFactor());
    return {};
  }

  Status PlanTransfer(Graph::Index i, Work& work) {
    const CommSpec& spec = *graph_.comm(i);
    const bool chosen = IsChosenStream(i);
    work.type = WorkType::kTransfer;
    work.mode = options_.ModeOf(spec.kind);
    work.counts = chosen;
    const std::string_view lacks = LacksOf(spec);
    const bool only_group = lacks == kLacksGroup;  // --assume-groups can't help without a guess
    if (Executes(work.mode) && chosen && !spec.outside && !options_.assume_groups &&
        (lacks.empty() || only_group) && spec.certainty == GroupCertainty::kUnknown) {
      return BadInput(fmt::format(
          "node {} ({}): the capture does not say for certain which process group it is of; replay "
          "would have to guess. Capture with record_param_comms (NCCL, or a backend that emits "
          "it), accept the converter's guess with --assume-groups, or let transfers take their "
          "recorded time with --comms timed",
          graph_.id(i), graph_.name(i)));
    }
    if (!lacks.empty() && Executes(work.mode) && chosen && !spec.outside) {
      plan_.diagnostics.Count(fmt::format("transfer_lacks: {}", lacks),
                              fmt::format("node {}", graph_.id(i)));
    }
    // A guessed group is good for order, not for waiting.
    const bool guessed = spec.certainty == GroupCertainty::kUnknown && !options_.assume_groups;
    work.alone = spec.outside || !chosen || !lacks.empty() || guessed;
    if (work.alone && work.mode != ReplayMode::kSkip) {
      work.mode = ReplayMode::kTimed;
    }
    work.cost.bytes = static_cast<double>(spec.in_bytes + spec.out_bytes);
    work.source = WorkSource::kMessage;
    if (work.mode == ReplayMode::kSurrogate) {
      work.mode = ReplayMode::kReal;  // a transfer of the same bytes is the transfer
    }
    if (work.mode == ReplayMode::kTimed) {
      work.host_ns = Scaled(RecordedWorkNs(graph_, i, work), options_.TimeScaleOf(OpClass::kComm));
    }
    plan_.transfers.push_back(i);
    return {};
  }

  Status PlanCompute(Graph::Index i, Work& work) {
    work.type = WorkType::kCompute;
    work.counts = IsChosenStream(i);
    work.mode = work.counts ? options_.ModeOf(graph_.op_class(i)) : ReplayMode::kTimed;
    if (HasNothingButTime(graph_, i) && Executes(work.mode)) {
      work.mode = ReplayMode::kTimed;
    }
    auto call = graph_.Call(i);
    if (!call) {
      return BadInput(
          fmt::format("node {} ({}): {}", graph_.id(i), graph_.name(i), call.error().message));
    }
    work.shapes = NumberOfShapes(*call);
    const KnownWork known = FindWork(graph_, i, *call, find_kernel_);
    work.cost = known.cost;
    work.dtype = ElementType(*call);
    work.source = known.source;
    work.exact = known.kernel != nullptr;
    work.no_elements = known.no_elements;
    ChooseKind(i, call->name, known, work);
    if (work.mode == ReplayMode::kTimed) {
      HoldForRecordedTime(graph_, i, options_, plan_);
    } else if (work.mode != ReplayMode::kSkip) {
      Stretch(i, work);
    }
    return {};
  }

  // A chosen kind that the trace does not say enough for becomes the next best.
  void ChooseKind(Graph::Index i, const std::string& operation, const KnownWork& known,
                  Work& work) {
    if (work.mode == ReplayMode::kTimed || work.mode == ReplayMode::kSkip) {
      work.source = known.source == WorkSource::kUnknown ? WorkSource::kNone : known.source;
      return;
    }
    const std::string node = fmt::format("node {}", graph_.id(i));
    if (known.source == WorkSource::kUnknown) {
      work.mode = ReplayMode::kTimed;
      unknown_.emplace_back(i, operation);
    } else if (known.source == WorkSource::kCopiedBytes) {
      work.mode = ReplayMode::kReal;  // a copy of the same bytes is the copy
    } else if (work.mode == ReplayMode::kReal) {
      work.kernel = known.kernel;
      if (known.kernel == nullptr) {
        work.mode = ReplayMode::kSurrogate;
        plan_.diagnostics.Count("no_kernel: " + operation, node);
      }
    }
    if (known.no_elements) {
      plan_.diagnostics.Count("no_elements: " + operation, node);
    }
  }

  // An operation of a device may launch several kernels. The longest has the arguments, and its
  // node replays all of the operation. The others are parts of it.
  void JoinParts() {
    std::unordered_map<std::int64_t, Graph::Index> whole;  // by record function
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      if (plan_.work[i].source == WorkSource::kArguments && IsOfOperation(i)) {
        whole.try_emplace(graph_.rf_id(i), i);
      }
    }
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      Work& work = plan_.work[i];
      const bool unknown = work.source == WorkSource::kUnknown || work.source == WorkSource::kNone;
      const auto found = unknown && IsOfOperation(i) ? whole.find(graph_.rf_id(i)) : whole.end();
      if (found == whole.end()) {
        continue;
      }
      work.part_of = found->second;
      if (work.source == WorkSource::kUnknown && plan_.work[found->second].Computes()) {
        work.mode = plan_.work[found->second].mode;
        work.source = WorkSource::kOperation;
        work.host_ns = work.gap_ns = 0;
      }
    }
    for (const auto& [i, operation] : unknown_) {
      if (plan_.work[i].source == WorkSource::kUnknown) {
        plan_.diagnostics.Count("unknown_work: " + operation, fmt::format("node {}", graph_.id(i)));
      }
    }
  }

  [[nodiscard]] bool IsOfOperation(Graph::Index i) const {
    return plan_.work[i].type == WorkType::kCompute && graph_.device_work(i) != nullptr &&
           graph_.rf_id(i) >= 0;
  }

  std::uint32_t NumberOfShapes(const OpCall& call) {
    const auto [at, added] = shapes_.try_emplace(InputShapesText(call), plan_.shapes.size());
    if (added) {
      plan_.shapes.push_back(at->first);
    }
    return at->second;
  }

  // On a device's queue waiting would be a round trip to the host. A thread's nodes it waits for
  // itself, unless its queue does (Backend::stretches_streams).
  void Stretch(Graph::Index i, Work& work) {
    const double stretch = options_.StretchOf(graph_.op_class(i));
    if (graph_.actor(i).kind != Actor::Kind::kStream) {
      work.stretch = stretch;
      work.releases = stretch > 1 && !options_.stretches_streams;
    } else if (stretch != 1) {
      plan_.diagnostics.Count("not_stretched: on a device's stream",
                              fmt::format("node {}", graph_.id(i)));
    }
  }

  // Without --streams every node is; else host nodes and those of the named streams.
  [[nodiscard]] bool IsChosenStream(Graph::Index i) const {
    const Actor actor = graph_.actor(i);
    return options_.streams.empty() || actor.kind != Actor::Kind::kStream ||
           std::find(options_.streams.begin(), options_.streams.end(),
                     StreamId{actor.device, actor.id}) != options_.streams.end();
  }

  // A replay takes the recorded times, and what the options make of them: as CheckTimes of
  // core/timing/dry_run.h has it.
  [[nodiscard]] Status CheckTimes() const {
    std::int64_t longest_ns =
        std::max({plan_.before_steps_ns, plan_.frame.lead_ns, plan_.frame.tail_ns});
    for (const Work& work : plan_.work) {
      longest_ns = std::max({longest_ns, work.gap_ns, work.host_ns});
    }
    return longest_ns <= kLongestNs
               ? Status{}
               : BadInput(fmt::format(
                     "rank {}: a recorded time, or one that --host-gaps or --time-scale gives, is "
                     "over 11 days; give a smaller factor, or convert the capture again",
                     graph_.metadata().rank));
  }

  // What a transfer is matched with and when it is issued goes by its place in its sequence; starts
  // may be recorded in another order (of two host threads, of a pool's workers).
  void OrderSequences() {
    std::map<std::uint32_t, std::vector<std::size_t>> places;  // by actor: a sequence is one
    for (std::size_t k = 0; k < plan_.transfers.size(); ++k) {
      places[plan_.work[plan_.transfers[k]].actor].push_back(k);
    }
    for (const auto& [sequence, of_sequence] : places) {
      std::vector<Graph::Index> nodes;
      for (const std::size_t k : of_sequence) {
        nodes.push_back(plan_.transfers[k]);
      }
      std::stable_sort(nodes.begin(), nodes.end(), [this](Graph::Index a, Graph::Index b) {
        return graph_.comm(a)->index < graph_.comm(b)->index;
      });
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        plan_.transfers[of_sequence[n]] = nodes[n];
      }
    }
  }

  // A replay begins where the first recorded step begins, or what comes before it, and ends with
  // the last step, or what comes after it.
  void FrameSteps() {
    const std::vector<Step>& steps = graph_.metadata().steps;
    if (steps.empty() || graph_.size() == 0) {
      return;
    }
    const std::int64_t steps_end_ns = steps.back().start_ns + steps.back().duration_ns;
    std::int64_t begin_ns = steps.front().start_ns;
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      begin_ns = std::min(begin_ns, graph_.start_ns(i));
      const std::int64_t end_ns = graph_.start_ns(i) + graph_.duration_ns(i);
      plan_.work_after_steps |= plan_.work[i].step < 0 && end_ns > steps_end_ns;
    }
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      if (graph_.deps(i).empty()) {
        plan_.work[i].gap_ns = Scaled(graph_.start_ns(i) - begin_ns, pause_factor_);
      }
    }
    plan_.before_steps_ns = Scaled(steps.front().start_ns - begin_ns, pause_factor_);
    plan_.frame = FrameOf(graph_);
    plan_.frame.lead_ns = Scaled(plan_.frame.lead_ns, pause_factor_);
    plan_.frame.tail_ns = Scaled(plan_.frame.tail_ns, pause_factor_);
  }

  std::uint32_t ActorOf(Graph::Index i) {
    const Actor actor = graph_.actor(i);
    const CommSpec* comm = graph_.comm(i);
    std::string name = NameOf(actor, comm);
    const auto [it, added] =
        actor_index_.try_emplace(name, static_cast<std::uint32_t>(plan_.actors.size()));
    if (added) {
      const auto kind = comm != nullptr ? Actor::Kind::kGroup : actor.kind;
      plan_.actors.push_back({kind, std::move(name)});
    }
    return it->second;
  }

  // Trace edges plus "previous of the same thread or stream": order within an actor is kept even
  // where the capture recorded no edge. Order within a sequence of transfers is the communication
  // thread's: it is an order of issue, not of completion.
  void AddDependencies() {
    constexpr auto kNone = UINT32_MAX;
    std::vector<std::uint32_t> last_of_actor(plan_.actors.size(), kNone);
    std::vector<std::uint32_t> previous(graph_.size(), kNone);
    for (const Graph::Index i : graph_.order()) {
      if (plan_.work[i].type != WorkType::kTransfer) {
        previous[i] = std::exchange(last_of_actor[plan_.work[i].actor], i);
      }
    }
    plan_.dep_offset.push_back(0);
    for (Graph::Index i = 0; i < graph_.size(); ++i) {
      const auto deps = graph_.deps(i);
      plan_.deps.insert(plan_.deps.end(), deps.begin(), deps.end());
      if (previous[i] != kNone && std::find(deps.begin(), deps.end(), previous[i]) == deps.end()) {
        plan_.deps.push_back(previous[i]);
        if (!deps.empty() &&
            graph_.start_ns(previous[i]) + graph_.duration_ns(previous[i]) > graph_.start_ns(i)) {
          plan_.work[i].gap_ns = 0;  // it ran beside the one before: what it waited for has passed
        }
      }
      plan_.dep_offset.push_back(static_cast<std::uint32_t>(plan_.deps.size()));
    }
    plan_.dependencies = DependencyGraph::FromDependencies(plan_.dep_offset, plan_.deps);
  }

  void MarkCrossings() {
    std::vector<Graph::Index> last_of_actor(plan_.actors.size(), 0);
    for (const Graph::Index i : graph_.order()) {
      Work& work = plan_.work[i];
      last_of_actor[work.actor] = i;
      for (const std::uint32_t dep : plan_.DepsOf(i)) {
        if (plan_.work[dep].actor != work.actor) {
          work.joins = true;
          plan_.work[dep].releases = true;
        }
      }
      if (work.type == WorkType::kWait) {
        work.releases = true;
      }
    }
    for (const Graph::Index i : last_of_actor) {
      if (i < plan_.work.size()) {
        plan_.work[i].releases = true;
      }
    }
  }

  const Graph& graph_;
  const PlanOptions& options_;
  const FindKernel& find_kernel_;
  Plan plan_;
  double pause_factor_ = 1;                                            // on delays and host nodes
  std::unordered_map<std::string, std::uint32_t> shapes_ = {{"", 0}};  // into Plan::shapes
  std::map<std::string, std::uint32_t> actor_index_;
  std::vector<std::pair<Graph::Index, std::string>> unknown_;  // work, with the operation
};

}  // namespace

Result<Plan> BuildPlan(const Graph& graph, const PlanOptions& options,
                       const FindKernel& find_kernel) {
  return Planner(graph, options, find_kernel).Build();
}

std::int64_t RecordedWorkNs(const Graph& graph, Graph::Index i, const Work& work) {
  const std::int64_t transfer_ns = graph.transfer_ns(i);
  return transfer_ns >= 0 && !work.alone ? transfer_ns : graph.duration_ns(i);
}

void HoldForRecordedTime(const Graph& graph, Graph::Index i, const PlanOptions& options,
                         Plan& plan) {
  Work& work = plan.work[i];
  work.mode = ReplayMode::kTimed;
  work.kernel = nullptr;
  work.stretch = 1;
  work.host_ns = Scaled(DurationNs(graph, i, options), options.TimeScaleOf(graph.op_class(i)));
}

}  // namespace reprise
