// Engine's running half: one node, from ready to done.
#include <algorithm>

#include "core/clock.h"
#include "core/nanoseconds.h"
#include "replayer/engine/engine.h"
#include "replayer/engine/exceptions.h"

namespace reprise {
namespace {

// Kept gaps are merged up to this much before the thread really waits: short enough to keep the
// recorded overlap with transfers, long enough that waking up (some 50 us) does not dominate.
constexpr std::int64_t kMaxMergedNs = 1'000'000;

}  // namespace

bool Engine::OnStream(Graph::Index i) const {
  return plan_.actors[plan_.work[i].actor].kind == Actor::Kind::kStream;
}

NodeState Engine::RunNode(Graph::Index i) {
  const Work& work = plan_.work[i];
  if (work.type == WorkType::kTransfer) {
    const std::int64_t earliest_ns = MonotonicNs() + work.gap_ns;
    NoteDue(earliest_ns);
    comm_->Submit(i, earliest_ns);
    return NodeState::kPending;
  }
  ActorState& actor = actors_[work.actor];
  return OnStream(i) ? RunOnStream(i, actor) : RunOnThread(i, actor);
}

// No exception leaves a task: its message would lack the rank.
NodeState Engine::RunNodeChecked(Graph::Index i) {
  if (failing_.load(std::memory_order_relaxed)) {
    scheduler_.Stop();  // failed before this iteration's nodes could run
    return NodeState::kPending;
  }
  try {
    return RunNode(i);
  } catch (const std::exception& exception) {
    GiveUp(ErrorOf(exception, "at " + NameOf(i)));
    return NodeState::kPending;
  }
}

// A host thread of the recording: on its pacer where it must wait, at once otherwise.
NodeState Engine::RunOnThread(Graph::Index i, ActorState& actor) {
  const Work& work = plan_.work[i];
  const bool crosses = work.joins || work.releases;
  const bool at_once = !actor.pacer->IsElsewhere() &&
                       (crosses ? IsInTime(i, actor) : actor.timeline.pending_ns() <= kMaxMergedNs);
  if (!at_once) {
    actor.pacer->Post(i);
    return NodeState::kPending;
  }
  Status status;
  if (crosses) {
    status = RunPacedChecked(i, actor);
    done_ns_[i] = MonotonicNs();
  } else {
    actor.timeline.AddHostTime(work.gap_ns);
    status = Execute(i, actor);
  }
  if (!status) {
    GiveUp(status.error());
    return NodeState::kPending;
  }
  actor.last.store(i, std::memory_order_relaxed);
  return NodeState::kDone;
}

// Nothing that RunPacedChecked would wait for is still to come: no device work, no time.
bool Engine::IsInTime(Graph::Index i, const ActorState& actor) {
  const Work& work = plan_.work[i];
  if (!actor.enqueued.empty() || (work.Computes() && work.releases) ||
      (work.joins && !InputsReady(i))) {
    return false;
  }
  IdealTime then = actor.timeline;
  const std::int64_t now_ns = MonotonicNs();
  if (work.joins) {
    (void)then.Settle();
    for (const std::uint32_t dep : plan_.DepsOf(i)) {
      if (plan_.work[dep].actor != work.actor) {
        then.JoinAt(events_[dep] != nullptr ? now_ns : done_ns_[dep]);
      }
    }
  }
  then.AddHostTime(work.gap_ns + work.host_ns);
  return then.Settle() <= now_ns;
}

// A device stream of the recording: the device itself resolves what it waits for.
NodeState Engine::RunOnStream(Graph::Index i, ActorState& actor) {
  const Work& work = plan_.work[i];
  if (work.mode == ReplayMode::kTimed || actor.stream == nullptr) {
    actor.pacer->Post(i);
    return NodeState::kPending;
  }
  if (const Status status = EnqueueOnStream(i, actor); !status) {
    GiveUp(status.error());
    return NodeState::kPending;
  }
  actor.last.store(i, std::memory_order_relaxed);
  return NodeState::kDone;
}

Status Engine::EnqueueOnStream(Graph::Index i, ActorState& actor) {
  if (plan_.work[i].joins) {
    for (const std::uint32_t dep : plan_.DepsOf(i)) {
      if (EventPtr event = UseEvent(dep, i)) {
        actor.wait_for.push_back(std::move(event));
      }
    }
    if (!actor.wait_for.empty()) {
      REPRISE_TRY(actor.stream->WaitFor(actor.wait_for));
      actor.wait_for.clear();
    }
  }
  REPRISE_TRY(Execute(i, actor));
  if (event_users_[i].load(std::memory_order_relaxed) > 0) {
    REPRISE_ASSIGN(events_[i], actor.stream->Record());
    REPRISE_TRY(actor.stream->Flush());
  }
  return {};
}

// The event of `dep` for its dependent `by`, which calls once; null where there is none. The last
// call releases it.
EventPtr Engine::UseEvent(Graph::Index dep, Graph::Index by) {
  if (!OnStream(dep) || plan_.work[dep].actor == plan_.work[by].actor) {
    return nullptr;
  }
  EventPtr event = events_[dep];
  if (event_users_[dep].fetch_sub(1, std::memory_order_acq_rel) == 1) {
    events_[dep].reset();
  }
  return event;
}

void Engine::RunPaced(Graph::Index i) {
  if (failing_.load()) {
    return;
  }
  ActorState& actor = actors_[plan_.work[i].actor];
  actor.at_hand.store(i, std::memory_order_relaxed);
  Status status;
  try {
    status = RunPacedChecked(i, actor);
  } catch (const std::exception& exception) {
    status = tl::unexpected<Error>(ErrorOf(exception, "at " + NameOf(i)));
  }
  if (!status) {
    GiveUp(status.error());
    return;
  }
  actor.at_hand.store(kNoNode, std::memory_order_relaxed);
  actor.last.store(i, std::memory_order_relaxed);
  done_ns_[i] = MonotonicNs();
  // The thread's next nodes follow on its pacer's thread: waking another costs tens of us.
  scheduler_.CompleteHere(i);
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
  if (work.type != WorkType::kCompute || work.mode == ReplayMode::kTimed) {
    const std::int64_t start_ns = actor.timeline.ideal_ns() + actor.timeline.pending_ns();
    if (work.counts) {
      Record(actor, i, start_ns, work.host_ns);
    }
    NoteEnd(actor, i, start_ns + work.host_ns);
    actor.timeline.AddHostTime(work.host_ns);
    return {};
  }
  if (work.mode == ReplayMode::kSkip) {
    return {};
  }
  const std::uint32_t begin = launch_begin_[i];
  const std::uint32_t end = launch_begin_[i + 1];
  for (std::uint32_t k = begin; k < end; ++k) {
    REPRISE_TRY(actor.stream->Enqueue(*launches_[k]));
  }
  if (value_check_ != nullptr && value_check_->counting() && !counts_itself_[i] &&
      work.kernel != nullptr && work.mode == ReplayMode::kReal) {
    REPRISE_TRY(actor.stream->Finish());
    REPRISE_TRY(value_check_->CountOn(*actor.stream, i));
  }
  const bool stretched = work.stretch > 1 && actor.stream->Stretch(end - begin, work.stretch);
  actor.enqueued.push_back({i, end - begin, stretched ? 1 : work.stretch});
  // Only this thread adds: no atomic sum is needed.
  actor.backlog_ns.store(actor.backlog_ns.load(std::memory_order_relaxed) + EstimateNs(i),
                         std::memory_order_relaxed);
  return {};
}

// Waits until the device has done what this thread enqueued and the thread's time has come.
Status Engine::Settle(ActorState& actor) {
  if (!actor.enqueued.empty()) {
    REPRISE_TRY(actor.stream->Finish());
    REPRISE_ASSIGN(const std::vector<Stream::Times> times, actor.stream->TakeTimes());
    std::size_t at = 0;
    for (const auto& [node, count, stretch] : actor.enqueued) {
      if (count == 0) {
        Record(actor, node, at > 0 ? times[at - 1].end_ns : actor.timeline.ideal_ns(), 0);
        continue;
      }
      const std::int64_t start_ns = times.at(at).start_ns;
      const std::int64_t taken_ns = times.at(at + count - 1).end_ns - start_ns;
      const auto lasts_ns = NsOf(stretch * static_cast<double>(taken_ns));
      if (lasts_ns > taken_ns) {
        WaitUntil(start_ns + lasts_ns);  // even if the thread is late: nodes must not overlap
      }
      Record(actor, node, start_ns, lasts_ns);
      actor.timeline.AddDeviceTime(lasts_ns);
      at += count;
    }
    actor.enqueued.clear();
    actor.backlog_ns.store(0, std::memory_order_relaxed);
  }
  WaitUntil(actor.timeline.Settle());
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
    if (const EventPtr event = UseEvent(dep, i)) {
      REPRISE_TRY(event->Wait());
      latest_ns = std::max(latest_ns, MonotonicNs());
    } else {
      latest_ns = std::max(latest_ns, done_ns_[dep]);
    }
  }
  return latest_ns;
}

void Engine::Record(ActorState& actor, Graph::Index i, std::int64_t start_ns,
                    std::int64_t duration_ns) {
  const Work& work = plan_.work[i];
  actor.records.push_back({graph_.id(i), iteration_, work.step, work.mode, start_ns, duration_ns});
  NoteEnd(actor, i, start_ns + duration_ns);
}

void Engine::NoteEnd(ActorState& actor, Graph::Index i, std::int64_t end_ns) {
  if (const std::int32_t step = plan_.work[i].step; step >= 0) {
    std::int64_t& last_ns = actor.step_end_ns.at(static_cast<std::size_t>(step));
    last_ns = std::max(last_ns, end_ns);
  }
}

void Engine::OnTransfer(const TransferTimes& times) {
  const Work& work = plan_.work[times.node];
  {
    const std::lock_guard lock(transfer_mutex_);
    transfer_records_.push_back({graph_.id(times.node), iteration_, work.step, work.mode,
                                 times.issued_ns, times.ended_ns - times.issued_ns});
  }
  for (const std::uint32_t dep : plan_.DepsOf(times.node)) {
    (void)UseEvent(dep, times.node);
  }
  done_ns_[times.node] = MonotonicNs();
  last_transfer_.store(times.node, std::memory_order_relaxed);
  scheduler_.Complete(times.node);
}

bool Engine::InputsReady(Graph::Index i) {
  for (const std::uint32_t dep : plan_.DepsOf(i)) {
    if (OnStream(dep) && plan_.work[dep].actor != plan_.work[i].actor && events_[dep] != nullptr &&
        !events_[dep]->IsDone()) {
      return false;
    }
  }
  return true;
}

}  // namespace reprise
