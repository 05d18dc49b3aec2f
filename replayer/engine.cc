#include "replayer/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <thread>

#include "core/clock.h"

namespace reprise {
namespace {

// Kept gaps are merged up to this much before the thread really waits: short enough to keep the
// recorded overlap with transfers, long enough that waking up (some 50 us) does not dominate.
constexpr std::int64_t kMaxMergedNs = 1'000'000;

}  // namespace

Engine::Engine(const Graph& graph, const Plan& plan, const ReplayOptions& options,
               Communicator& communicator)
    : graph_(graph),
      plan_(plan),
      options_(options),
      communicator_(communicator),
      launches_(graph.size()),
      actors_(plan.actors.size()),
      done_ns_(graph.size()),
      events_(graph.size()),
      scheduler_(plan.dependencies, static_cast<int>(plan.actors.size())) {}

Engine::~Engine() {
  scheduler_.Stop();
  comm_.reset();
}

Result<std::unique_ptr<Engine>> Engine::Create(const Graph& graph, const Plan& plan,
                                               const ReplayOptions& options,
                                               Communicator& communicator, RankGroups& groups,
                                               std::vector<PlannedTransfer> transfers,
                                               Device* device, DeviceMemory* memory) {
  std::unique_ptr<Engine> engine(new Engine(graph, plan, options, communicator));
  REPRISE_TRY(engine->CreateActors(device));
  if (device != nullptr) {
    REPRISE_TRY(engine->PrepareLaunches(*device, *memory));
  }
  Engine* raw = engine.get();
  CommThread::Callbacks callbacks{
      .done = [raw](const TransferTimes& times) { raw->OnTransfer(times); },
      .failed = [raw](const Error& error) { raw->GiveUp(error); },
      .inputs_ready = [raw](Graph::Index i) { return raw->InputsReady(i); }};
  REPRISE_ASSIGN(engine->comm_,
                 CommThread::Create(graph, plan, communicator, groups, memory, device,
                                    {options.check, std::move(transfers)}, std::move(callbacks)));
  return engine;
}

Status Engine::CreateActors(Device* device) {
  std::vector<bool> computes(actors_.size(), false);
  for (const Work& work : plan_.work) {
    const bool executes = work.mode == ReplayMode::kReal || work.mode == ReplayMode::kSurrogate;
    computes[work.actor] = computes[work.actor] || (work.type == WorkType::kCompute && executes);
  }
  for (std::size_t a = 0; a < actors_.size(); ++a) {
    if (plan_.actors[a].kind == Actor::Kind::kGroup) {
      continue;  // the communication thread's
    }
    if (computes[a] && device != nullptr) {
      REPRISE_ASSIGN(actors_[a].stream, device->CreateStream(true));
    }
    actors_[a].pacer = std::make_unique<Pacer>([this](std::uint32_t node) { RunPaced(node); });
  }
  return {};
}

Result<std::vector<Launch>> Engine::LowerNode(Graph::Index i, Device& device,
                                              DeviceMemory& memory) const {
  const Work& work = plan_.work[i];
  const LowerContext context{memory, device.info(), [&](int slot, std::int64_t bytes) {
                               return memory.Scratch(work.actor, slot, bytes);
                             }};
  if (work.mode == ReplayMode::kSurrogate) {
    return LowerSurrogate(work.cost, context);
  }
  REPRISE_ASSIGN(const OpCall call, graph_.Call(i));
  return work.kernel->Lower(call, context);
}

// Everything is compiled before anything is bound: ranks that start together then share the work.
Status Engine::PrepareLaunches(Device& device, DeviceMemory& memory) {
  const auto where = [&](Graph::Index i, const Error& error) {
    return reprise::Fail(
        error.kind, fmt::format("node {} ({}): {}", graph_.id(i), graph_.name(i), error.message));
  };
  std::vector<Launch> launches;
  std::vector<std::pair<Graph::Index, std::size_t>> counts;
  for (Graph::Index i = 0; i < graph_.size(); ++i) {
    const Work& work = plan_.work[i];
    const bool executes = work.mode == ReplayMode::kReal || work.mode == ReplayMode::kSurrogate;
    if (work.type != WorkType::kCompute || !executes) {
      continue;
    }
    auto lowered = LowerNode(i, device, memory);
    if (!lowered) {
      return where(i, lowered.error());
    }
    counts.emplace_back(i, lowered->size());
    std::move(lowered->begin(), lowered->end(), std::back_inserter(launches));
  }
  REPRISE_TRY(device.Compile(launches));
  auto launch = launches.begin();
  for (const auto& [i, count] : counts) {
    for (std::size_t k = 0; k < count; ++k, ++launch) {
      auto prepared = device.Prepare(*launch);
      if (!prepared) {
        return where(i, prepared.error());
      }
      launches_[i].push_back(std::move(*prepared));
    }
  }
  return {};
}

NodeState Engine::RunNode(Graph::Index i) {
  const Work& work = plan_.work[i];
  if (work.type == WorkType::kTransfer) {
    comm_->Submit(i, MonotonicNs() + work.gap_ns);
    return NodeState::kPending;
  }
  ActorState& actor = actors_[work.actor];
  if (plan_.actors[work.actor].kind == Actor::Kind::kStream) {
    return RunOnStream(i, actor);
  }
  if (work.joins || work.releases || actor.timeline.pending_ns() > kMaxMergedNs) {
    actor.pacer->Post(i);
    return NodeState::kPending;
  }
  actor.timeline.AddHostTime(work.gap_ns);
  if (const Status status = Execute(i, actor); !status) {
    GiveUp(status.error());
    return NodeState::kPending;
  }
  return NodeState::kDone;
}

// A device stream of the recording: the device itself resolves what it waits for.
NodeState Engine::RunOnStream(Graph::Index i, ActorState& actor) {
  const Work& work = plan_.work[i];
  if (work.mode == ReplayMode::kTimed || work.mode == ReplayMode::kSkip) {
    actor.pacer->Post(i);
    return NodeState::kPending;
  }
  std::vector<EventPtr> wait_for;
  for (const std::uint32_t dep : plan_.DepsOf(i)) {
    if (plan_.work[dep].actor != work.actor && events_[dep] != nullptr) {
      wait_for.push_back(events_[dep]);
    }
  }
  Status status = wait_for.empty() ? Status{} : actor.stream->WaitFor(wait_for);
  if (status) {
    status = Execute(i, actor);
  }
  if (status && work.releases) {
    auto event = actor.stream->Record();
    if (event) {
      events_[i] = std::move(*event);
      status = actor.stream->Flush();
    } else {
      status = tl::unexpected<Error>(event.error());
    }
  }
  if (!status) {
    GiveUp(status.error());
    return NodeState::kPending;
  }
  return NodeState::kDone;
}

void Engine::RunPaced(Graph::Index i) {
  if (failing_.load()) {
    return;
  }
  if (const Status status = RunPacedChecked(i, actors_[plan_.work[i].actor]); !status) {
    GiveUp(status.error());
    return;
  }
  FinishNode(i);
}

Status Engine::RunPacedChecked(Graph::Index i, ActorState& actor) {
  const Work& work = plan_.work[i];
  if (work.joins) {
    REPRISE_TRY(Settle(actor));
    REPRISE_ASSIGN(const std::int64_t latest_ns, AwaitDependencies(i));
    actor.timeline.JoinAt(latest_ns);
  }
  actor.timeline.AddHostTime(work.gap_ns);
  if (work.joins || work.type == WorkType::kCompute) {
    REPRISE_TRY(Settle(actor));
  }
  REPRISE_TRY(Execute(i, actor));
  return work.releases || actor.timeline.pending_ns() > kMaxMergedNs ? Settle(actor) : Status{};
}

// Enqueues a compute node, or lets the time of any other node pass on the thread's timeline.
Status Engine::Execute(Graph::Index i, ActorState& actor) {
  const Work& work = plan_.work[i];
  if (std::int64_t& begin_ns = actor.step_begin_ns.at(static_cast<std::size_t>(work.step));
      begin_ns == 0) {
    begin_ns = MonotonicNs();
  }
  if (work.type != WorkType::kCompute || work.mode == ReplayMode::kTimed) {
    if (work.counts) {
      Record(actor, i, actor.timeline.ideal_ns() + actor.timeline.pending_ns(), work.host_ns);
    }
    actor.timeline.AddHostTime(work.host_ns);
    return {};
  }
  if (work.mode == ReplayMode::kSkip) {
    return {};
  }
  for (const auto& launch : launches_[i]) {
    REPRISE_TRY(actor.stream->Enqueue(*launch));
  }
  actor.enqueued.emplace_back(i, static_cast<std::uint32_t>(launches_[i].size()));
  return {};
}

// Waits until the device has done what this thread enqueued and the thread's time has come.
Status Engine::Settle(ActorState& actor) {
  if (!actor.enqueued.empty()) {
    REPRISE_TRY(actor.stream->Finish());
    REPRISE_ASSIGN(const std::vector<Stream::Times> times, actor.stream->TakeTimes());
    std::size_t at = 0;
    for (const auto& [node, count] : actor.enqueued) {
      if (count == 0) {
        Record(actor, node, at > 0 ? times[at - 1].end_ns : actor.timeline.ideal_ns(), 0);
        continue;
      }
      const std::int64_t start_ns = times.at(at).start_ns;
      const std::int64_t end_ns = times.at(at + count - 1).end_ns;
      Record(actor, node, start_ns, end_ns - start_ns);
      actor.timeline.AddDeviceTime(end_ns - start_ns);
      at += count;
    }
    actor.enqueued.clear();
  }
  WaitUntilNs(actor.timeline.Settle());
  return {};
}

// Blocks until stream nodes that `i` waits for have finished; when the latest dependency on another
// actor was over.
Result<std::int64_t> Engine::AwaitDependencies(Graph::Index i) {
  std::int64_t latest_ns = 0;
  for (const std::uint32_t dep : plan_.DepsOf(i)) {
    if (plan_.work[dep].actor == plan_.work[i].actor) {
      continue;
    }
    if (events_[dep] != nullptr) {
      REPRISE_TRY(events_[dep]->Wait());
      latest_ns = std::max(latest_ns, MonotonicNs());
    } else {
      latest_ns = std::max(latest_ns, done_ns_[dep]);
    }
  }
  return latest_ns;
}

void Engine::FinishNode(Graph::Index i) {
  done_ns_[i] = MonotonicNs();
  scheduler_.Complete(i);
}

void Engine::Record(ActorState& actor, Graph::Index i, std::int64_t start_ns,
                    std::int64_t duration_ns) {
  const Work& work = plan_.work[i];
  actor.records.push_back({graph_.id(i), iteration_, work.step, work.mode, start_ns, duration_ns});
}

void Engine::OnTransfer(const TransferTimes& times) {
  const Work& work = plan_.work[times.node];
  {
    const std::lock_guard lock(transfer_mutex_);
    transfer_records_.push_back({graph_.id(times.node), iteration_, work.step, work.mode,
                                 times.issued_ns, times.ended_ns - times.issued_ns});
  }
  FinishNode(times.node);
}

bool Engine::InputsReady(Graph::Index i) {
  for (const std::uint32_t dep : plan_.DepsOf(i)) {
    if (events_[dep] != nullptr && !events_[dep]->IsDone()) {
      return false;
    }
  }
  return true;
}

void Engine::GiveUp(const Error& error) {
  if (failing_.exchange(true)) {
    return;
  }
  {
    const std::lock_guard lock(error_mutex_);
    error_ = error;
  }
  communicator_.RaiseAbort(error);
  scheduler_.Stop();
}

// Ends a run that makes no progress, saying who waits for what.
void Engine::Watch(const std::stop_token& stop) {
  std::uint32_t last = scheduler_.remaining();
  std::int64_t since_ns = MonotonicNs();
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  // Wakes as soon as it is told to stop: the end of an iteration waits for nobody's sleep.
  while (!stopped.wait_for(lock, stop, std::chrono::milliseconds(20),
                           [&stop] { return stop.stop_requested(); })) {
    const std::uint32_t now = scheduler_.remaining();
    if (now != last) {
      last = now;
      since_ns = MonotonicNs();
    } else if (MonotonicNs() - since_ns > options_.watchdog_ns) {
      GiveUp({ErrorKind::kCheckFailed,
              fmt::format("no progress for {} s with {} nodes left:{}",
                          options_.watchdog_ns / 1'000'000'000, now, comm_->Describe())});
      return;
    }
  }
}

Result<IterationResult> Engine::RunIteration(std::int32_t iteration, bool warmup) {
  iteration_ = iteration;
  comm_->BeginIteration();
  transfer_records_.clear();
  std::fill(events_.begin(), events_.end(), nullptr);
  const std::int64_t begin_ns = MonotonicNs();
  for (ActorState& actor : actors_) {
    actor.timeline.Restart(begin_ns);
    actor.records.clear();
    actor.step_begin_ns.assign(std::max<std::size_t>(graph_.metadata().steps.size(), 1), 0);
  }
  std::jthread watchdog([this](const std::stop_token& stop) { Watch(stop); });
  const bool complete = scheduler_.Run([this](std::uint32_t node) { return RunNode(node); });
  watchdog.request_stop();
  watchdog.join();
  if (!complete || failing_.load()) {
    for (ActorState& actor : actors_) {
      if (actor.pacer != nullptr) {
        actor.pacer->Drain();
      }
    }
    const std::lock_guard lock(error_mutex_);
    return tl::unexpected<Error>(error_);
  }
  return Collect(iteration, warmup, begin_ns);
}

Result<IterationResult> Engine::Collect(std::int32_t iteration, bool warmup,
                                        std::int64_t begin_ns) {
  for (ActorState& actor : actors_) {
    if (!actor.enqueued.empty()) {
      REPRISE_TRY(Settle(actor));
    }
  }
  // What the recorded step spent after its last node.
  WaitUntilNs(MonotonicNs() + plan_.tail_ns);
  IterationResult result;
  std::int64_t end_ns = MonotonicNs();
  const auto steps = std::max<std::size_t>(graph_.metadata().steps.size(), 1);
  for (std::size_t s = steps; s-- > 0;) {
    std::int64_t step_begin_ns = s == 0 ? begin_ns : end_ns;
    for (const ActorState& actor : actors_) {
      if (s > 0 && !actor.step_begin_ns.empty() && actor.step_begin_ns[s] > 0) {
        step_begin_ns = std::min(step_begin_ns, actor.step_begin_ns[s]);
      }
    }
    result.steps.push_back(
        {iteration, warmup, static_cast<std::int32_t>(s), step_begin_ns, end_ns - step_begin_ns});
    end_ns = step_begin_ns;
  }
  std::reverse(result.steps.begin(), result.steps.end());
  result.records = std::move(transfer_records_);
  for (ActorState& actor : actors_) {
    result.records.insert(result.records.end(), actor.records.begin(), actor.records.end());
    actor.records.clear();
  }
  return result;
}

std::int64_t Engine::checked_transfers() const { return comm_->checked(); }

}  // namespace reprise
