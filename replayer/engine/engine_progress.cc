// What the watchdog sees of the engine, and how the engine ends.
#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "replayer/engine/engine.h"

namespace reprise {
namespace {

// The watchdog need not see shorter waits.
constexpr std::int64_t kNoticedWaitNs = 100'000'000;

}  // namespace

void Engine::SetLimits(const DeviceLimits& limits, double slowdown) {
  if (limits.flops_per_second > 0 && limits.bytes_per_second > 0) {
    limits_ = limits;
    slowdown_ = slowdown;
  }
}

std::int64_t Engine::EstimateNs(Graph::Index i) const {
  const Work& work = plan_.work[i];
  return limits_ ? static_cast<std::int64_t>(slowdown_ * work.stretch * 1e9 *
                                             EstimateSeconds(work, graph_.op_class(i), *limits_))
                 : 0;
}

std::string Engine::NameOf(Graph::Index i) const {
  return fmt::format("node {} {}", graph_.id(i), graph_.name(i));
}

void Engine::NoteDue(std::int64_t deadline_ns) {
  std::int64_t known_ns = due_ns_.load(std::memory_order_relaxed);
  if (deadline_ns < known_ns || deadline_ns < MonotonicNs() + kNoticedWaitNs) {
    return;
  }
  while (deadline_ns > known_ns && !due_ns_.compare_exchange_weak(known_ns, deadline_ns)) {
  }
}

void Engine::WaitUntil(std::int64_t deadline_ns) {
  const std::int64_t now_ns = MonotonicNs();
  if (now_ns >= deadline_ns) {
    return;  // the usual case: it costs one reading of the clock
  }
  if (deadline_ns > now_ns + kNoticedWaitNs) {
    NoteDue(deadline_ns);
  }
  while (deadline_ns > MonotonicNs() + kNoticedWaitNs) {  // the run may end before
    if (failing_.load()) {
      return;
    }
    WaitUntilNs(MonotonicNs() + kNoticedWaitNs / 2, 0);
  }
  WaitUntilNs(deadline_ns);
}

Progress Engine::GetProgress() {
  Progress progress;
  progress.due_ns = due_ns_.load(std::memory_order_relaxed);
  // Any number that changes with each of these; the scheduler counts in batches, actors do not.
  const auto mix = [&progress](std::uint64_t value) {
    progress.mark = (progress.mark ^ value) * 0x9E3779B97F4A7C15ULL + 1;
  };
  mix(scheduler_.remaining());
  mix(static_cast<std::uint64_t>(runs_.load()) * 2 + (running_.load() ? 1 : 0));
  const auto look = [&](Graph::Index last, std::size_t slot) {
    mix(last);
    if (last != seen_[slot]) {
      seen_[slot] = last;
      newest_.store(last);
    }
  };
  for (std::size_t a = 0; a < actors_.size(); ++a) {
    look(actors_[a].last.load(std::memory_order_relaxed), a);
    progress.backlog_ns += actors_[a].backlog_ns.load(std::memory_order_relaxed);
  }
  look(last_transfer_.load(std::memory_order_relaxed), actors_.size());
  return progress;
}

RankState Engine::GetState() const {
  RankState state;
  state.iteration = runs_.load();
  if (const Graph::Index last = newest_.load(); last != kNoNode) {
    state.last = NameOf(last);
  }
  if (!running_.load()) {
    return state;
  }
  state.nodes_left = scheduler_.remaining();
  for (const ActorState& actor : actors_) {
    if (const Graph::Index node = actor.at_hand.load(std::memory_order_relaxed); node != kNoNode) {
      state.at_hand.push_back(NameOf(node));
    }
  }
  if (state.nodes_left == 0) {
    state.at_hand.emplace_back("the end of the iteration, waiting for the device");
  }
  state.sequences = comm_->Sequences();
  return state;
}

void Engine::GiveUp(const Error& reported, const Error& found) {
  if (failing_.exchange(true)) {
    scheduler_.Stop();
    return;
  }
  const auto set = [this](const Error& error) {
    const std::lock_guard lock(error_mutex_);
    error_ = error;
  };
  set(found);  // before anything can end because of it
  communicator_.RaiseAbort(reported);
  if (const std::optional<Error> first = communicator_.PollAbort();
      first && !first->message.ends_with(reported.message)) {
    set(*first);
  }
  scheduler_.Stop();
}

std::optional<Error> Engine::failure() const {
  const std::lock_guard lock(error_mutex_);
  return error_;
}

}  // namespace reprise
