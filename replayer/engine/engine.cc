#include "replayer/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "core/timing/dry_run.h"
#include "replayer/engine/planned_launches.h"

namespace reprise {

Engine::Engine(const Graph& graph, const Plan& plan, const ReplayOptions& options,
               Communicator& communicator)
    : graph_(graph),
      plan_(plan),
      options_(options),
      communicator_(communicator),
      launch_begin_(graph.size() + 1),
      actors_(plan.actors.size()),
      done_ns_(graph.size()),
      events_(graph.size()),
      event_users_(graph.size()),
      seen_(plan.actors.size() + 1, kNoNode),
      scheduler_(plan.dependencies, static_cast<int>(plan.actors.size())) {}

Engine::~Engine() {
  scheduler_.Stop();
  comm_.reset();
  for (ActorState& actor : actors_) {
    actor.pacer.reset();  // its thread uses the scheduler
  }
  // Newest first: a driver may keep a program's kernels in a list with the newest in front, and
  // look for each that is released (PoCL does).
  while (!launches_.empty()) {
    launches_.pop_back();
  }
}

Result<std::unique_ptr<Engine>> Engine::Create(const Graph& graph, Plan& plan,
                                               const ReplayOptions& options,
                                               Communicator& communicator, RankGroups& groups,
                                               CommThreadOptions transfers, Device* device,
                                               DeviceMemory* memory) {
  std::unique_ptr<Engine> engine(new Engine(graph, plan, options, communicator));
  REPRISE_TRY(engine->CreateActors(device));
  if (device != nullptr) {
    REPRISE_TRY(engine->PrepareLaunches(*device, *memory, plan));
  }
  Engine* raw = engine.get();
  CommThread::Callbacks callbacks{
      .done = [raw](const TransferTimes& times) { raw->OnTransfer(times); },
      .failed = [raw](const Error& error) { raw->GiveUp(error); },
      .inputs_ready = [raw](Graph::Index i) { return raw->InputsReady(i); },
      .ends_at = [raw](std::int64_t ns) { raw->NoteDue(ns); }};
  REPRISE_ASSIGN(engine->comm_,
                 CommThread::Create(graph, plan, communicator, groups, memory, device,
                                    std::move(transfers), std::move(callbacks)));
  return engine;
}

Status Engine::CreateActors(Device* device) {
  std::vector<bool> computes(actors_.size(), false);
  for (const Work& work : plan_.work) {
    computes[work.actor] = computes[work.actor] || work.Computes();
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

// Everything is compiled before anything is bound: ranks that start together then share the work.
Status Engine::PrepareLaunches(Device& device, DeviceMemory& memory, Plan& plan) {
  const ActorScratch scratch = [&memory](std::uint32_t actor, int slot, std::int64_t bytes) {
    return memory.Scratch(actor, slot, bytes);
  };
  REPRISE_ASSIGN(PlannedLaunches planned, LowerPlan(graph_, options_, memory, device.info(),
                                                    device.lowering(), scratch, plan));
  launch_begin_ = std::move(planned.begin);
  if (options_.check_values) {
    value_check_ = std::make_unique<ValueCheck>(graph_, memory);
    CountAfter(planned.launches, device.info().memory_is_host);
  }
  REPRISE_TRY(device.Compile(planned.launches));
  launches_.reserve(planned.launches.size());
  for (Graph::Index i = 0; i < graph_.size(); ++i) {
    for (std::uint32_t k = launch_begin_[i]; k < launch_begin_[i + 1]; ++k) {
      auto prepared = device.Prepare(planned.launches[k]);
      if (!prepared) {
        return reprise::Fail(prepared.error().kind,
                             fmt::format("node {} ({}): {}", graph_.id(i), graph_.name(i),
                                         prepared.error().message));
      }
      launches_.push_back(std::move(*prepared));
    }
  }
  return {};
}

// Each task counts itself, since what it brought may be freed behind it.
void Engine::CountAfter(std::vector<Launch>& launches, bool on_host) {
  counts_itself_.assign(graph_.size(), false);
  for (Graph::Index i = 0; i < graph_.size(); ++i) {
    for (std::uint32_t k = launch_begin_[i]; k < launch_begin_[i + 1]; ++k) {
      auto* task = std::get_if<HostTask>(&launches[k]);
      if (task != nullptr && plan_.work[i].kernel != nullptr &&
          plan_.work[i].mode == ReplayMode::kReal) {
        counts_itself_[i] = true;
        Stream* const stream = on_host ? nullptr : actors_[plan_.work[i].actor].stream.get();
        task->after = [check = value_check_.get(), i, stream, after = std::move(task->after)] {
          if (stream == nullptr) {
            check->CountHere(i);
          } else if (check->counting()) {
            (void)check->CountOn(*stream, i);  // a failed device: the stream's end says so
          }
          if (after) {
            after();
          }
        };
      }
    }
  }
}

// How many nodes will use each stream node's event: the last one releases it, so that the
// number of live events stays small however long the trace is.
void Engine::ExpectEventUsers() {
  std::fill(events_.begin(), events_.end(), nullptr);
  for (auto& users : event_users_) {
    users.store(0, std::memory_order_relaxed);
  }
  for (Graph::Index i = 0; i < graph_.size(); ++i) {
    for (const std::uint32_t dep : plan_.DepsOf(i)) {
      if (OnStream(dep) && plan_.work[dep].actor != plan_.work[i].actor) {
        event_users_[dep].fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
}

Result<IterationResult> Engine::RunIteration(std::int32_t iteration, bool warmup) {
  iteration_ = iteration;
  runs_.fetch_add(1);
  running_.store(true);
  comm_->BeginIteration();
  transfer_records_.clear();
  ExpectEventUsers();
  const std::int64_t begin_ns = MonotonicNs();
  for (ActorState& actor : actors_) {
    actor.timeline.Restart(begin_ns);
    actor.records.clear();
    actor.step_end_ns.assign(plan_.frame.steps, INT64_MIN);
  }
  const bool complete = scheduler_.Run([this](std::uint32_t node) { return RunNodeChecked(node); });
  if (!complete || failing_.load()) {
    for (ActorState& actor : actors_) {
      if (actor.pacer != nullptr) {
        actor.pacer->Drain();
      }
    }
    return tl::unexpected<Error>(failure().value_or(Error{}));
  }
  REPRISE_TRY(AwaitTransfers());
  auto result = Collect(iteration, warmup, begin_ns);
  running_.store(false);
  return result;
}

// Sends that ended without their receives: their areas are used again in the next iteration.
Status Engine::AwaitTransfers() {
  while (comm_->IsBusy()) {
    if (failing_.load()) {
      return tl::unexpected<Error>(failure().value_or(Error{}));
    }
    WaitUntilNs(MonotonicNs() + 20'000);
  }
  return {};
}

Result<std::map<std::string, ValueCounts>> Engine::CheckValues(std::int32_t iteration) {
  if (value_check_ == nullptr) {
    return std::map<std::string, ValueCounts>{};
  }
  value_check_->Begin();
  const auto ran = RunIteration(iteration, true);
  auto counts = value_check_->End();
  if (!ran) {
    return tl::unexpected<Error>(ran.error());
  }
  return counts;
}

Result<IterationResult> Engine::Collect(std::int32_t iteration, bool warmup,
                                        std::int64_t begin_ns) {
  for (ActorState& actor : actors_) {
    if (!actor.enqueued.empty()) {
      REPRISE_TRY(Settle(actor));
    }
  }
  // What the recorded step spent after its last node.
  WaitUntil(MonotonicNs() + plan_.frame.tail_ns);
  IterationResult result;
  std::vector<std::int64_t> end_ns(plan_.frame.steps, INT64_MIN);
  const auto note = [&end_ns](std::size_t step, std::int64_t ended_ns) {
    end_ns.at(step) = std::max(end_ns.at(step), ended_ns);
  };
  for (const ActorState& actor : actors_) {
    for (std::size_t step = 0; step < end_ns.size(); ++step) {
      note(step, actor.step_end_ns[step]);
    }
  }
  for (const NodeRecord& record : transfer_records_) {
    if (record.step >= 0) {
      note(static_cast<std::size_t>(record.step), record.start_ns + record.duration_ns);
    }
  }
  if (!plan_.work_after_steps) {
    end_ns.back() = MonotonicNs();
  }
  for (const auto& [begin, end] : StepSpans(begin_ns + plan_.before_steps_ns, end_ns)) {
    result.steps.push_back(
        {iteration, warmup, static_cast<std::int32_t>(result.steps.size()), begin, end - begin});
  }
  std::size_t count = transfer_records_.size();
  for (const ActorState& actor : actors_) {
    count += actor.records.size();
  }
  result.records = std::move(transfer_records_);
  result.records.reserve(count);
  for (ActorState& actor : actors_) {
    result.records.insert(result.records.end(), actor.records.begin(), actor.records.end());
    actor.records.clear();
  }
  return result;
}

std::int64_t Engine::checked_transfers() const { return comm_->checked(); }

}  // namespace reprise
