// reprise replay: a trace set, or a part of it, on as many ranks, into a run directory.
#include "replayer/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cli/program/commands.h"
#include "cli/program/interrupts.h"
#include "cli/program/launched_rank.h"
#include "cli/program/number_checks.h"
#include "cli/program/part_flags.h"
#include "cli/program/provenance_flag.h"
#include "cli/program/sampling_flags.h"
#include "cli/replay/backend_options.h"
#include "cli/replay/end_all_ranks.h"
#include "cli/replay/library_options.h"
#include "cli/replay/rank_watch.h"
#include "cli/replay/replay_backend.h"
#include "cli/replay/replay_progress.h"
#include "cli/replay/replay_runs.h"
#include "cli/replay/start_mpi.h"
#include "cli/runs/run_report.h"
#include "collectives/communicator.h"
#include "core/bytes.h"
#include "core/denormals.h"
#include "core/log.h"
#include "core/parallel.h"
#include "core/shown_text.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "replayer/device_choice.h"
#include "replayer/plan/option_texts.h"

namespace reprise {
namespace {

struct ReplayFlags {
  ReplayRequest request;
  std::string mode;  // any value is a usage error that names what took its place
  std::string ops, comms, host_gaps = "auto", memory = "own", device = "auto";
  std::string time_scale, stretch;
  std::vector<std::string> algorithms;
  int ranks_per_process = 1;
  std::string staging_chunk;
  std::string device_transfers = "auto";
  SettingFlags settings;
  PartFlags part;
  std::string device_map;
  RunsFlags runs;
  bool quiet = false, json = false;
  double watchdog_s = 60;
  SamplingFlags sampling;
  double idle_s = 0, until_steady_s = 0;
  CLI::Option* idle_option = nullptr;
};

void AddFlags(CLI::App& app, ReplayFlags& flags) {
  ReplayOptions& options = flags.request.options;
  app.add_option("SET", flags.request.set_directory,
                 "directory of <name>.<rank>.et files; one such file: its rank alone")
      ->required();
  app.add_option("-o,--output", flags.request.run_directory, "run directory to write")->required();
  app.add_flag("--force", flags.request.force, "replace an existing run");
  AddProvenanceFlag(app, flags.request);
  AddRunsFlags(app, flags.runs);
  auto* const quiet = app.add_flag("--quiet", flags.quiet, "no report at the end");
  app.add_flag("--json", flags.json, "report at the end as one JSON object")->excludes(quiet);
  app.add_option("--mode", flags.mode)->group("");
  app.add_option("--ops", flags.ops,
                 "real|surrogate|timed|skip, or CLASS=MODE,…; class rest: all others");
  app.add_option("--comms", flags.comms,
                 "real|timed|skip, or COLLECTIVE=MODE,…; collective rest: all others");
  app.add_option(
         "--algo", flags.algorithms,
         "algorithm of collectives: [KIND[@GROUP]=]NAME[,chunk=SIZE][,channels=N][,node=N], "
         "also from=SIZE; `reprise list algorithms` lists them (default: measured)")
      ->take_all();
  app.add_option("--staging-chunk", flags.staging_chunk,
                 "chunk size for copies between device and network; 0: one copy for each transfer "
                 "(default: 4MiB with GPUs, else 0)");
  app.add_option("--device-transfers", flags.device_transfers,
                 "auto: among GPUs by their library (NCCL), where each rank has one of its own; "
                 "off: through the hosts' memory (default: auto)")
      ->check(CLI::IsMember({"auto", "off"}));
  app.add_option("--ranks-per-process", flags.ranks_per_process,
                 "ranks that each process replays, each on threads of its own (default: 1)")
      ->check(CLI::Range(1, kMaxRanksPerProcess));
  app.add_option("--host-gaps", flags.host_gaps,
                 "host time between operations: keep, untraced (without the estimated cost of "
                 "tracing), drop, scale:F, or auto: untraced where the capture has the estimate "
                 "(default: auto)");
  app.add_option(
      "--time-scale", flags.time_scale,
      "factor on the time of timed nodes, or CLASS=F,…; class comm: transfers, class rest: all "
      "others");
  app.add_option(
      "--stretch", flags.stretch,
      "factor (at least 1) on the time of executed operations of host threads, or CLASS=F,…; "
      "the thread waits after each; `reprise report` suggests factors");
  std::vector<std::string> devices = BackendNames();
  devices.insert(devices.begin(), "auto");
  app.add_option("--device", flags.device,
                 fmt::format("{}, or auto: {} (default: auto)", fmt::join(BackendNames(), ", "),
                             BackendPreference()))
      ->check(CLI::IsMember(devices));
  auto* const index = app.add_option("--device-index", options.device_index,
                                     "device of all ranks: its number in `reprise devices`")
                          ->check(NotNegative());
  app.add_option("--device-map", flags.device_map,
                 "device of each local rank: 0:0,1:0,2:1, or round-robin, or packed (neighbours "
                 "share a device); default: round-robin over GPUs")
      ->excludes(index);
  flags.settings.AddTo(app, &BackendSetting::Help::replay);
  AddPartFlags(app, flags.part);
  app.add_option("--warmup", options.warmup, "warm-up iterations, not measured (default: 1)")
      ->check(NotNegative());
  app.add_option("--iterations", options.iterations, "measured iterations (default: 3)")
      ->check(Positive());
  app.add_option(
         "--memory", flags.memory,
         "which storages may share a buffer; own: those whose uses are ordered by dependencies; "
         "share: also those that the recording used one after the other (correct times, wrong "
         "contents)")
      ->check(CLI::IsMember({"own", "share"}));
  app.add_flag("--check", options.check,
               "send exactly representable data and verify every transfer's result");
  app.add_flag("--check-values", options.check_values,
               "after the measured iterations run one more, not timed, and count denormals, "
               "infinities and NaN of every operation; `reprise report --section values`");
  app.add_flag("--flush-denormals", options.flush_denormals,
               "compute with zero in place of denormal numbers, as "
               "torch.set_flush_denormal(True) does; the run records it");
  app.add_flag("--allow-slow", options.allow_slow,
               "run even if the replay takes over 20 times as long as the recording");
  app.add_flag("--assume-groups", options.assume_groups,
               "accept guessed process groups where the capture names none");
  app.add_option("--watchdog", flags.watchdog_s,
                 "abort after this many seconds without progress (default: 60)")
      ->check(Between(0.001, kMostSeconds));
  AddSamplingFlags(app, flags.sampling);
  flags.idle_option =
      app.add_option("--idle", flags.idle_s,
                     "seconds to measure idle power before the replay (default: 2 where power is "
                     "measured, else 0)")
          ->check(Between(0, kMostSeconds));
  app.add_option("--until-steady", flags.until_steady_s,
                 "warm up until temperatures change by less than 2 degrees a minute, at most this "
                 "many seconds")
      ->check(Between(0.001, kMostSeconds));
}

Status Interpret(ReplayFlags& flags) {
  ReplayOptions& options = flags.request.options;
  if (!flags.mode.empty()) {
    return UsageError(
        "--mode is gone: --ops timed or --comms timed in place of comm and compute; for dry: "
        "reprise simulate SET -o RUN --machine recorded");
  }
  REPRISE_TRY(ParseOpModes(flags.ops, options));
  REPRISE_TRY(ParseCommModes(flags.comms, options));
  REPRISE_TRY(ParseHostGaps(flags.host_gaps, options));
  for (const std::string& text : flags.algorithms) {
    REPRISE_TRY(options.algorithms.Add(text));
  }
  if (!flags.staging_chunk.empty()) {
    options.staging_chunk_bytes = ParseBytes(flags.staging_chunk);
    if (!options.staging_chunk_bytes) {
      return UsageError(
          fmt::format("--staging-chunk: '{}' is no size: 1MiB, 4M, 0", flags.staging_chunk));
    }
  }
  options.links_devices = flags.device_transfers == "auto";
  if (!flags.time_scale.empty()) {
    REPRISE_TRY(ParseTimeScale(flags.time_scale, options));
  }
  if (!flags.stretch.empty()) {
    REPRISE_TRY(ParseStretch(flags.stretch, options));
  }
  REPRISE_TRY(InterpretPart(flags.part, flags.request.set_directory, options));
  if (!flags.device_map.empty()) {
    REPRISE_TRY(ParseDeviceMap(flags.device_map, options));
  }
  options.share_memory = flags.memory == "share";
  if (options.check_values && options.share_memory) {
    return UsageError(
        "--check-values: with --memory share contents are wrong, so that counting them says "
        "nothing; leave one of the two out");
  }
  options.watchdog_ns = static_cast<std::int64_t>(flags.watchdog_s * 1e9);
  REPRISE_ASSIGN(options.sampling, InterpretSampling(flags.sampling));
  if (flags.idle_option->count() > 0) {
    options.idle_ns = static_cast<std::int64_t>(flags.idle_s * 1e9);
  }
  options.until_steady_ns = static_cast<std::int64_t>(flags.until_steady_s * 1e9);
  return {};
}

// Open MPI ends a process that lacks file descriptors without a message.
Status CheckProcessLimits() {
  constexpr rlim_t kFewestFiles = 64;  // measured: Open MPI 4.1 starts one rank with 20
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFewestFiles) {
    return EnvironmentError(
        fmt::format("this process may open {} files, and MPI needs {}: raise the limit (ulimit -n)",
                    files.rlim_cur, kFewestFiles));
  }
  return {};
}

// Compute threads of a rank of the recorded job, where it ran on CPUs; nothing: not known, or the
// set is not on this host.
std::optional<int> RecordedThreads(const std::string& set_directory) {
  const auto set = TraceSet::OpenPresent(set_directory);
  if (!set || set->RankCount() == 0) {
    return std::nullopt;
  }
  const auto reader = EtReader::Open(set->DistinctRanks().front().path);
  if (!reader) {
    return std::nullopt;
  }
  const RecordedMachine& machine = (*reader)->metadata().machine;
  return machine.threads > 0 && machine.device.empty() ? std::optional(machine.threads)
                                                       : std::nullopt;
}

// Every process would start a thread per core; ranks that share a host share its cores, and each
// takes no more threads than it was recorded with. Must be set before the first OpenCL call.
// OMP_NUM_THREADS, as for the recorded job, is how a user sets it.
void LimitCpuDeviceThreads(const Communicator& communicator, const ReplayFlags& flags) {
  const int cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  const char* const wanted = std::getenv("OMP_NUM_THREADS");
  const int own = wanted == nullptr ? 0 : std::atoi(wanted);
  const int share = std::max(cores / std::max(communicator.local_size(), 1), 1);
  const int recorded = RecordedThreads(flags.request.set_directory).value_or(share);
  const int threads = own > 0 ? own : std::min(share, recorded * flags.ranks_per_process);
  LimitOwnCores(threads);
  setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(threads).c_str(), 0);
  setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 0);
}

// Ends the process, here or soon.
Result<int> EndEarly(const ReplayFailure& failure, Communicator& communicator) {
  const Error& error = failure.error;
  if (!failure.while_running) {
    return EndAllRanks(error, communicator);
  }
  const int signal_code = InterruptExitCode();
  // mpirun sends its signal to every rank; one of them reports it.
  if (signal_code == 0 || communicator.rank() == 0) {
    LogError(error.message);
  }
  const int code = signal_code != 0 ? signal_code : static_cast<int>(error.kind);
  communicator.AbortNow(code, {});
  return code;
}

Status ReportOutcome(const ReplayFlags& flags, const ReplayOutcome& outcome) {
  const ReplayRequest& request = flags.request;
  std::FILE* const notes = flags.json || flags.quiet ? stderr : stdout;
  if (request.options.check) {
    fmt::print(notes, "check: every transfer correct ({} verified on rank 0)\n",
               outcome.checked_transfers);
  }
  for (const std::string& note : outcome.notes) {
    fmt::print(notes, "{}\n", ShownLines(note));
  }
  return flags.quiet ? Status{} : PrintRunReport(request.run_directory, flags.json);
}

Result<int> RunOnRank(ReplayFlags& flags, const CommandContext& context) {
  ReplayRequest& request = flags.request;
  // Threads begin as their creators are: before there are any.
  if (request.options.flush_denormals && !FlushDenormals()) {
    return EnvironmentError(
        "--flush-denormals: it is not known how to on this processor; replay without it");
  }
  request.command_line = context.command_line;
  request.options.cache_directory = context.cache_directory;
  request.options.compiled_programs = context.compiled_programs;
  request.options.measured_collectives = MeasuredCollectivesPath(context);
  // From here on each rank watches the others of its host.
  std::optional<RankWatch> watch(std::in_place, FindLaunchedRank(), request.options.watchdog_ns);
  const BackendSettings given = flags.settings.Given();
  request.options.settings = given;
  const Status torch = FindTorch(request.options.settings);  // before MPI
  if (MayUseLookedFor(flags.device, request.options)) {
    LookForTorch(request.options.settings);
  }
  // Open MPI asks hwloc for the machine's devices, whose OpenCL plug-in would make the first OpenCL
  // call: before the number of threads is limited and drivers are named.
  setenv("HWLOC_COMPONENTS", "-opencl", 0);
  REPRISE_ASSIGN(auto communicator, StartMpi(context));
  watch->MpiStarted();
  communicator->SetPatience(RankWatch::kPatienceOverLimit * request.options.watchdog_ns);
  if (communicator->size() > 1) {
    SetLog(LogLevel::kInfo, communicator->rank());
  }
  LimitCpuDeviceThreads(*communicator, flags);
  for (const Status& mine : {torch, PrepareBackend(flags.device, given, context, request)}) {
    if (const Status agreed = communicator->Agree(mine); !agreed) {
      return EndAllRanks(agreed.error(), *communicator);
    }
  }
  const bool first = communicator->rank() == 0;
  if (first && !request.device_reason.empty() && !flags.quiet) {
    fmt::print(stderr, "device: {} ({})\n", request.options.backend,
               ShownText(request.device_reason));
  }
  std::optional<ReplayProgressLine> line;
  if (first && (line.emplace(), line->shown())) {
    request.progress = [&line](const ReplayProgress& progress) { line->Show(progress); };
  }
  CatchInterrupts();
  request.interrupted = [&watch] {
    watch->LeaveToWatchdog();
    return PendingInterrupt();
  };
  const auto outcome = flags.ranks_per_process > 1
                           ? ReplayRanksOfProcess(request, *communicator,
                                                  flags.ranks_per_process * communicator->size())
                           : Replay(request, *communicator);
  line.reset();
  if (!outcome) {
    watch.reset();  // the reason is known
    return EndEarly(outcome.error(), *communicator);
  }
  KeepSums(request.run_directory, outcome->ranks);
  REPRISE_TRY(communicator->Agree({}));  // all are there before the report
  communicator.reset();                  // the other ranks need not wait for the report
  watch.reset();
  if (first) {
    REPRISE_TRY(ReportOutcome(flags, *outcome));
  }
  return 0;
}

Result<int> RunReplay(ReplayFlags& flags, const CommandContext& context) {
  REPRISE_TRY(Interpret(flags));
  REPRISE_TRY(CheckProcessLimits());
  return StartsProcesses(flags.runs) ? RunAsProcesses(flags.runs,
                                                      {.request = flags.request,
                                                       .ranks_per_process = flags.ranks_per_process,
                                                       .quiet = flags.quiet,
                                                       .json = flags.json},
                                                      context)
                                     : RunOnRank(flags, context);
}

}  // namespace

CommandBody RegisterReplay(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<ReplayFlags>();
  AddFlags(app, *flags);
  return [flags, &context] { return RunReplay(*flags, context); };
}

}  // namespace reprise
