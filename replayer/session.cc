#include "replayer/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "core/clock.h"
#include "core/log.h"

namespace reprise {

Status Session::OpenTrace() {
  REPRISE_ASSIGN(set_, TraceSet::Open(request_.set_directory));
  if (set_.world_size != communicator_.size()) {
    return UsageError(fmt::format(
        "the trace set {} has {} ranks, but {} were started: use mpirun -n {} reprise replay …",
        request_.set_directory, set_.world_size, communicator_.size(), set_.world_size));
  }
  const std::string& file = set_.files.at(communicator_.rank());
  auto graph = Graph::Load(file);
  if (!graph) {
    return tl::unexpected<Error>(graph.error());
  }
  graph_.emplace(std::move(*graph));
  REPRISE_ASSIGN(plan_, BuildPlan(*graph_, request_.options, KernelRegistry::Builtin()));
  return {};
}

Status Session::MatchRanks() {
  std::vector<PlannedTransfer> mine;
  for (const Graph::Index node : plan_.transfers) {
    mine.push_back({graph_->id(node), *graph_->comm(node)});
  }
  REPRISE_ASSIGN(auto plans, ExchangePlans(communicator_, mine));
  const RanksOfGroup ranks_of = [this](const std::string& id) {
    const auto it = set_.groups.find(id);
    return it == set_.groups.end() ? std::vector<std::int32_t>{} : it->second.ranks;
  };
  CompleteSplits(plans, ranks_of);
  REPRISE_TRY(MatchTransfers(plans, ranks_of));
  transfers_ = std::move(plans[static_cast<std::size_t>(communicator_.rank())]);
  return {};
}

Status Session::CreateGroups() {
  for (const auto& [id, group] : set_.groups) {
    REPRISE_ASSIGN(auto comm, communicator_.CreateGroup(group.ranks));
    if (comm != nullptr) {
      groups_[id] = {group.ranks, std::move(comm)};
    }
  }
  return {};
}

bool Session::UsesDevice() const {
  return std::any_of(plan_.work.begin(), plan_.work.end(), [](const Work& work) {
    return work.type == WorkType::kCompute &&
           (work.mode == ReplayMode::kReal || work.mode == ReplayMode::kSurrogate);
  });
}

Status Session::OpenDevice() {
  if (!UsesDevice()) {
    return {};
  }
  const ReplayOptions& options = request_.options;
  auto device = reprise::OpenDevice({options.backend, options.device_index, options.cache_directory,
                                     options.allow_tf32, options.tuning});
  if (!device) {
    return reprise::Fail(
        device.error().kind,
        device.error().message +
            (options.backend == "opencl" ? "; --device host needs no OpenCL" : ""));
  }
  device_ = std::move(*device);
  REPRISE_ASSIGN(auto lives, FindLifetimes(*graph_, plan_));
  memory_plan_ = PlanMemory(std::move(lives), options.share_memory);
  return {};
}

// One rank of each host measures while the others wait: measured together, ranks would count each
// other's load twice.
Result<DeviceLimits> Session::HostLimits() {
  Result<DeviceLimits> mine = DeviceLimits{};
  if (communicator_.local_rank() == 0 && device_ != nullptr) {
    mine = MeasureLimits(*device_);
  }
  const DeviceLimits limits = mine.value_or(DeviceLimits{});
  REPRISE_ASSIGN(const auto rows, communicator_.AllGather(
                                      fmt::format("{} {} {}", limits.flops_per_second,
                                                  limits.bytes_per_second, communicator_.host())));
  if (!mine) {
    return mine;
  }
  for (const std::string& row : rows) {
    std::istringstream fields(row);
    DeviceLimits of_host;
    std::string host;
    fields >> of_host.flops_per_second >> of_host.bytes_per_second >> host;
    if (host == communicator_.host() && of_host.flops_per_second > 0) {
      return of_host;
    }
  }
  return DeviceLimits{};
}

// Ranks of a host share its device; a CPU device's threads may have cores of their own.
double Session::SharingSlowdown() const {
  const double ranks = communicator_.local_size();
  if (!device_->info().is_cpu) {
    return ranks;
  }
  const double cores = std::max(std::thread::hardware_concurrency(), 1U);
  return std::max(1.0, ranks * device_->info().compute_units / cores);
}

Status Session::EstimateCost() {
  REPRISE_ASSIGN(const DeviceLimits limits, HostLimits());
  if (device_ == nullptr || limits.flops_per_second <= 0) {
    return {};
  }
  estimate_ = EstimateReplay(*graph_, plan_, memory_plan_, limits, SharingSlowdown());
  return CheckEstimate(estimate_, device_->info(), communicator_.local_size(), request_.options);
}

Status Session::PrepareEngine() {
  if (device_ != nullptr) {
    REPRISE_ASSIGN(memory_, DeviceMemory::Create(memory_plan_, *device_));
  }
  REPRISE_ASSIGN(engine_, Engine::Create(*graph_, plan_, request_.options, communicator_, groups_,
                                         transfers_, device_.get(), memory_.get()));
  return {};
}

// Ranks whose recorded step began later begin later here too.
Result<std::int64_t> Session::StartSkewNs() {
  const TraceMetadata& metadata = graph_->metadata();
  const std::int64_t first_ns = metadata.steps.empty() ? 0 : metadata.steps.front().start_ns;
  const std::int64_t mine_ns = metadata.base_ns + metadata.clock_offset_ns + first_ns;
  REPRISE_ASSIGN(const auto all, communicator_.AllGather(std::to_string(mine_ns)));
  std::int64_t earliest_ns = mine_ns;
  for (const std::string& text : all) {
    earliest_ns = std::min<std::int64_t>(earliest_ns, std::stoll(text));
  }
  return static_cast<std::int64_t>(static_cast<double>(mine_ns - earliest_ns) *
                                   request_.options.GapFactor());
}

Status Session::RunIterations() {
  const ReplayOptions& options = request_.options;
  REPRISE_ASSIGN(const std::int64_t skew_ns, StartSkewNs());
  const std::int32_t total = options.warmup + options.iterations;
  for (std::int32_t iteration = 0; iteration < total; ++iteration) {
    REPRISE_TRY(communicator_.Barrier());
    WaitUntilNs(MonotonicNs() + skew_ns);
    const bool warmup = iteration < options.warmup;
    REPRISE_ASSIGN(IterationResult result, engine_->RunIteration(iteration, warmup));
    std::int64_t replay_ns = 0;
    for (const StepRecord& step : result.steps) {
      replay_ns += step.duration_ns;
      writer_->AppendStep(step);
    }
    writer_->AppendRecords(std::move(result.records));
    if (request_.progress && communicator_.rank() == 0) {
      request_.progress(fmt::format("{} {} of {}: {:.1f} ms", warmup ? "warm-up" : "iteration",
                                    warmup ? iteration + 1 : iteration - options.warmup + 1,
                                    warmup ? options.warmup : options.iterations,
                                    static_cast<double>(replay_ns) * 1e-6));
    }
  }
  return {};
}

ReplayOutcome Session::Outcome() const { return {engine_->checked_transfers()}; }

}  // namespace reprise
