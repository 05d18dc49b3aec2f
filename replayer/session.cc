#include "replayer/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "collectives/gathered.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/parallel.h"
#include "kernels/backend.h"
#include "kernels/call_lowering.h"
#include "replayer/device_choice.h"
#include "replayer/shared_set.h"
#include "replayer/work_sums.h"
#include "report/telemetry/load_meter.h"

namespace reprise {
namespace {

// Counters' examples, each counted once.
using Occurrences = std::map<std::string, std::set<std::string>, std::less<>>;

Diagnostics Without(const Diagnostics& diagnostics, const Occurrences& taken_back) {
  Diagnostics rest;
  for (const auto& [name, counter] : diagnostics.Snapshot()) {
    const auto it = taken_back.find(name);
    std::uint64_t count = counter.count - (it == taken_back.end() ? 0 : it->second.size());
    for (const std::string& example : counter.examples) {
      if (count > 0 && (it == taken_back.end() || it->second.count(example) == 0)) {
        rest.Count(name, example);
        --count;
      }
    }
    if (count > 0) {
      rest.Count(name, {}, count);
    }
  }
  return rest;
}

}  // namespace

Status Session::CheckSize() const {
  const int started = communicator_.size();
  const auto needed = static_cast<int>(mapping_.replayed.size());
  if (needed == started) {
    return {};
  }
  const std::string what =
      request_.options.part.ranks.empty()
          ? fmt::format("the trace set {} has {} ranks", request_.set_directory, needed)
          : fmt::format("--ranks chooses {} rank{}", needed, needed == 1 ? "" : "s");
  return UsageError(fmt::format(
      "{}, but {} {} started: use mpirun -n {} reprise replay {} -o {} …, or the same without "
      "mpirun and with --processes {}; with --ranks-per-process N, {}/N processes are enough",
      what, started, started == 1 ? "was" : "were", needed, request_.set_directory,
      request_.run_directory, needed, needed));
}

Status Session::OpenTrace() {
  const ReplayOptions& options = request_.options;
  REPRISE_ASSIGN(set_, OpenTogether(communicator_, request_.set_directory, options.part));
  REPRISE_ASSIGN(mapping_, MapRanks(set_, options, communicator_.size()));
  REPRISE_TRY(CheckSize());
  REPRISE_ASSIGN(loaded_, LoadPart(set_, mapping_, communicator_.rank(), options));
  return {};
}

Status Session::ResolveHostGaps() {
  if (request_.options.host_gaps != HostGaps::kAuto) {
    return {};
  }
  const bool estimated = loaded_->graph.metadata().tracing_call_ns > 0;
  REPRISE_ASSIGN(const int ranks, CountRanks(communicator_, estimated));
  request_.options.host_gaps =
      ranks == communicator_.size() ? HostGaps::kUntraced : HostGaps::kKeep;
  return {};
}

Status Session::PlanWork() {
  REPRISE_TRY(ResolveHostGaps());  // before anything can fail
  RankPart part = std::move(*loaded_);
  loaded_.reset();
  const Backend* backend = FindBackend(request_.options.backend);
  request_.options.stretches_streams = backend != nullptr && backend->stretches_streams();
  REPRISE_ASSIGN(plan_, BuildPlan(part.graph, request_.options, FindBuiltinKernel));
  part_ = CountPart(part, plan_, request_.options);
  plan_.diagnostics.Merge(part.diagnostics);
  graph_.emplace(std::move(part.graph));
  return {};
}

bool Session::UsesDevice() const {
  return std::any_of(plan_.work.begin(), plan_.work.end(), std::mem_fn(&Work::Computes));
}

Status Session::OpenDevice() {
  if (!UsesDevice()) {
    return {};
  }
  const ReplayOptions& options = request_.options;
  REPRISE_ASSIGN(const Backend* backend, BackendNamed(options.backend));
  const auto devices = backend->List();
  if (devices) {
    devices_ = static_cast<int>(devices->size());
    REPRISE_ASSIGN(device_index_, ChooseDevice(options, *devices, communicator_.local_rank(),
                                               communicator_.local_size()));
  }
  auto device = reprise::OpenDevice({options.backend, device_index_, options.cache_directory,
                                     options.compiled_programs, options.settings, options.tuning});
  if (!device) {
    return reprise::Fail(
        device.error().kind,
        device.error().message + (backend->is_always_there()
                                      ? ""
                                      : fmt::format("; --device {} needs no {}",
                                                    FallbackBackend().name(), backend->title())));
  }
  device_ = std::move(*device);
  if (const OperatorProvider* provider = device_->provider()) {
    REPRISE_TRY(UseProvider(*provider));
  }
  REPRISE_ASSIGN(auto lives, FindLifetimes(*graph_, plan_));
  memory_plan_ = PlanMemory(std::move(lives), options.share_memory);
  return {};
}

Status Session::UseProvider(const OperatorProvider& provider) {
  Occurrences taken;
  for (Graph::Index i = 0; i < graph_->size(); ++i) {
    Work& work = plan_.work[i];
    if (work.type != WorkType::kCompute ||
        (work.mode != ReplayMode::kReal && !LacksKernel(work, graph_->op_class(i)))) {
      continue;
    }
    REPRISE_ASSIGN(const OpCall call, graph_->Call(i));
    const std::string node = fmt::format("node {}", graph_->id(i));
    const bool takes = provider.Takes(call);
    if (work.mode == ReplayMode::kReal && !takes) {
      plan_.diagnostics.Count("not_by_torch: " + call.name, node);
    } else if (work.mode == ReplayMode::kSurrogate && takes) {
      taken["no_kernel: " + call.name].insert(node);
      work.mode = ReplayMode::kReal;
      work.kernel = &provider.stand_in();
    }
  }
  if (!taken.empty()) {
    plan_.diagnostics = Without(plan_.diagnostics, taken);
  }
  if (const std::int64_t page_faults = RecordedPageFaults(); page_faults > 0) {
    plan_.diagnostics.Count("page_faults", {}, static_cast<std::uint64_t>(page_faults));
  } else if (page_faults < 0) {
    plan_.diagnostics.Count("page_faults_unknown");
  }
  return {};
}

// Not a surrogate that --ops requires.
bool Session::LacksKernel(const Work& work, OpClass op_class) const {
  return work.mode == ReplayMode::kSurrogate &&
         request_.options.ModeOf(op_class) == ReplayMode::kReal;
}

// A device of a host; empty for a rank without one.
std::string Session::DeviceKey() const {
  return device_ == nullptr ? "" : fmt::format("{} {}", communicator_.host(), device_index_);
}

// One rank of each device measures it while the others wait: measured together, ranks would count
// each other's load twice.
Result<DeviceLimits> Session::SharedLimits() {
  REPRISE_ASSIGN(const auto keys, communicator_.AllGather(DeviceKey()));
  const std::string mine = DeviceKey();
  const auto first = std::find(keys.begin(), keys.end(), mine);
  ranks_on_device_ = static_cast<int>(std::count(keys.begin(), keys.end(), mine));
  each_has_a_device_ = std::ranges::find(keys, "") == keys.end() &&
                       std::set<std::string>(keys.begin(), keys.end()).size() == keys.size();
  Result<DeviceLimits> measured = DeviceLimits{};
  if (device_ != nullptr && first - keys.begin() == communicator_.rank()) {
    measured = MeasureLimits(*device_, ProductTypes(*graph_, plan_));
  }
  REPRISE_ASSIGN(const auto limits, GatherValues(communicator_, measured.value_or(DeviceLimits{})));
  return measured ? limits[static_cast<std::size_t>(first - keys.begin())] : measured;
}

// Ranks share a device; a CPU device's threads may have cores of their own.
double Session::SharingSlowdown() const {
  const double ranks = ranks_on_device_;
  if (!device_->info().is_cpu) {
    return ranks;
  }
  const double cores = std::max(std::thread::hardware_concurrency(), 1U);
  return std::max(1.0, ranks * device_->info().compute_units / cores);
}

Status Session::EstimateCost() {
  REPRISE_ASSIGN(limits_, SharedLimits());
  if (device_ == nullptr || limits_.flops_per_second <= 0) {
    return {};
  }
  estimate_ = EstimateReplay(*graph_, plan_, memory_plan_, limits_, SharingSlowdown());
  return CheckEstimate(estimate_, device_->info(), ranks_on_device_, request_.options);
}

Status Session::AllocateMemory() {
  if (device_ != nullptr) {
    REPRISE_ASSIGN(memory_, DeviceMemory::Create(memory_plan_, *graph_, *device_));
  }
  return {};
}

Status Session::PrepareEngine() {
  REPRISE_ASSIGN(const std::int64_t chunk_bytes, StagingChunkBytes());  // before anything can fail
  REPRISE_ASSIGN(engine_, Engine::Create(*graph_, plan_, request_.options, communicator_, groups_,
                                         {.check = request_.options.check,
                                          .chunk_bytes = chunk_bytes,
                                          .transfers = transfers_,
                                          .links = &links_},
                                         device_.get(), memory_.get()));
  if (device_ != nullptr) {
    engine_->SetLimits(limits_, SharingSlowdown());
  }
  return {};
}

// Once kinds are final, and before anything runs.
Status Session::WarnOfUnknownWork() {
  REPRISE_ASSIGN(const WorkSums sums, SumOverRanks(communicator_, SumWork(*graph_, plan_)));
  const std::string text = UnknownWorkText(sums.Unknown());
  if (!text.empty() && communicator_.rank() == 0) {
    LogWarning(text);
  }
  return {};
}

// All ranks cut alike, so one of them with a device of its own decides for all.
Result<std::int64_t> Session::StagingChunkBytes() {
  constexpr std::int64_t kDefaultBytes = 4 << 20;
  const bool copies = device_ != nullptr && !device_->info().is_cpu;
  REPRISE_ASSIGN(const int ranks, CountRanks(communicator_, copies));
  return request_.options.staging_chunk_bytes.value_or(ranks > 0 ? kDefaultBytes : 0);
}

// Ranks whose recorded step began later begin later here too.
Result<std::int64_t> Session::StartSkewNs() {
  const TraceMetadata& metadata = graph_->metadata();
  const std::int64_t first_ns = metadata.steps.empty() ? 0 : metadata.steps.front().start_ns;
  const std::int64_t mine_ns = metadata.base_ns + metadata.clock_offset_ns + first_ns;
  REPRISE_ASSIGN(const auto all_ns, GatherValues(communicator_, mine_ns));
  const std::int64_t late_ns = mine_ns - *std::min_element(all_ns.begin(), all_ns.end());
  return static_cast<std::int64_t>(static_cast<double>(late_ns) * request_.options.GapFactor());
}

Watchdog::Callbacks Session::WatchdogCallbacks() {
  auto opened = PseudoFile::Open(request_.options.sampling.sources.root + "/proc/pressure/cpu");
  const auto pressure =
      opened ? std::make_shared<PseudoFile>(std::move(*opened)) : std::shared_ptr<PseudoFile>();
  return {.progress = [this] { return engine_->GetProgress(); },
          .state = [this] { return engine_->GetState(); },
          .give_up =
              [this](const Error& reported, const Error& found) {
                RecordFailure(reported);  // the system may kill this process before it has ended
                engine_->GiveUp(reported, found);
              },
          .interrupted = request_.interrupted,
          .pressure_ns =
              [pressure] {
                return pressure ? PressureNs(pressure->Text().value_or("")) : std::nullopt;
              }};
}

Status Session::RunIterations() {
  Status ran;
  {
    const Watchdog watchdog(
        communicator_, {.limit_ns = request_.options.watchdog_ns},
        [this](const std::string& group) { return mapping_.RanksOf(group); }, WatchdogCallbacks());
    ran = Iterate();
  }
  // Of all that ended meanwhile this rank's first failure is the reason, with all it has to say.
  const std::optional<Error> failure = engine_->failure();
  return ran || !failure ? ran : tl::unexpected<Error>(*failure);
}

Status Session::Iterate() {
  const ReplayOptions& options = request_.options;
  REPRISE_ASSIGN(const std::int64_t skew_ns, StartSkewNs());
  const std::int64_t begin_ns = MonotonicNs();
  LoadMeter load(options.sampling.sources.root, OwnCoreNumbers());
  std::int32_t total = options.warmup + options.iterations;
  for (std::int32_t iteration = 0; iteration < total; ++iteration) {
    if (iteration == total - options.iterations) {
      REPRISE_ASSIGN(const bool warms_up, WarmsUpFurther(begin_ns));
      total += warms_up ? 1 : 0;
    }
    if (memory_ != nullptr && iteration > 0) {
      REPRISE_TRY(memory_->Restore(iteration));
    }
    if (device_ != nullptr) {
      device_->BeginIteration(RecordedPageFaults());
    }
    REPRISE_TRY(communicator_.Barrier());
    engine_->WaitUntil(MonotonicNs() + skew_ns);
    const std::int32_t warmups = total - options.iterations;
    const bool warmup = iteration < warmups;
    load.Begin();
    REPRISE_ASSIGN(IterationResult result, engine_->RunIteration(iteration, warmup));
    loads_.push_back(load.End(iteration));
    std::int64_t replay_ns = 0;
    for (const StepRecord& step : result.steps) {
      replay_ns += step.duration_ns;
    }
    writer_->Append(std::move(result.steps));
    writer_->Append(std::move(result.records));
    REPRISE_TRY(writer_->status());  // a full disk ends the run now, not after hours
    if (request_.progress && communicator_.rank() == 0) {
      request_.progress({.stage = warmup ? "warm-up" : "iteration",
                         .iteration = warmup ? iteration + 1 : iteration - warmups + 1,
                         .of = warmup ? warmups : options.iterations,
                         .step_ns = replay_ns});
    }
    REPRISE_TRY(CompareClocksAfter(iteration + 1, total));
  }
  manifest_.warmup = total - options.iterations;
  REPRISE_TRY(CheckValues(total));
  // While a rank is still at work all watchdogs answer.
  return communicator_.Barrier();
}

// In one iteration; -1: unknown.
std::int64_t Session::RecordedPageFaults() const {
  const TraceMetadata& metadata = graph_->metadata();
  return metadata.untraced_page_faults < 0
             ? -1
             : metadata.untraced_page_faults * static_cast<std::int64_t>(metadata.steps.size());
}

Status Session::CheckValues(std::int32_t iteration) {
  if (!request_.options.check_values) {
    return {};
  }
  if (request_.progress && communicator_.rank() == 0) {
    request_.progress({.stage = "checking values"});
  }
  if (memory_ != nullptr && iteration > 0) {
    REPRISE_TRY(memory_->Restore(iteration));
  }
  REPRISE_TRY(communicator_.Barrier());
  REPRISE_ASSIGN(const auto counts, engine_->CheckValues(iteration));
  writer_->SetFacts({.values = {counts.begin(), counts.end()}});
  return {};
}

ReplayOutcome Session::Outcome() const {
  ReplayOutcome outcome{engine_->checked_transfers(),
                        PartNotes(request_.options, set_, mapping_, part_),
                        {communicator_.rank()}};
  if (!steady_note_.empty()) {
    outcome.notes.push_back(steady_note_);
  }
  return outcome;
}

}  // namespace reprise
