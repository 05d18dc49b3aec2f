#include "cli/replay/replay_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "cli/program/launched_rank.h"
#include "cli/program/number_checks.h"
#include "cli/program/show_json.h"
#include "cli/replay/rank_watch.h"
#include "cli/runs/repeated_runs.h"
#include "cli/runs/run_report.h"
#include "cli/runs/watched_command.h"
#include "core/clock.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "replayer/plan/rank_mapping.h"
#include "replayer/plan/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

std::string RunPath(const std::string& directory, int run) {
  return (fs::path(directory) / fmt::format("run{}", run)).string();
}

bool IsRunPath(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("run") && IsNumber(std::string_view(name).substr(3));
}

// Runs of an earlier call would count as repeats of this one.
Status PrepareDirectoryOfRuns(const ReplayRequest& request) {
  REPRISE_TRY(PrepareRunDirectory(request.run_directory, request.force));
  std::error_code error;
  std::vector<fs::path> earlier;
  for (const auto& entry : fs::directory_iterator(request.run_directory, error)) {
    if (entry.is_directory(error) && IsRunPath(entry.path())) {
      earlier.push_back(entry.path());
    }
  }
  for (const fs::path& path : earlier) {
    REPRISE_TRY(PrepareRunDirectory(path.string(), request.force));
    fs::remove(path, error);  // only an empty one goes
  }
  return {};
}

Result<int> CountProcesses(const RunsFlags& flags, const RepeatedReplay& replay) {
  const ReplayOptions& options = replay.request.options;
  if (flags.processes > 0 || options.part.one_trace) {
    return std::max(flags.processes, 1);
  }
  REPRISE_ASSIGN(const TraceSet set, OpenChosen(replay.request.set_directory, options.part));
  REPRISE_ASSIGN(const RankMapping mapping, MapRanks(set, options, 1));
  const auto ranks = static_cast<int>(mapping.replayed.size());
  if (ranks % replay.ranks_per_process != 0) {
    return UsageError(
        fmt::format("--ranks-per-process {}: it does not divide the {} ranks to replay",
                    replay.ranks_per_process, ranks));
  }
  return ranks / replay.ranks_per_process;
}

// Open MPI starts nothing as root unless two variables allow it. It refuses more processes than
// cores unless it is allowed to. It binds processes to cores, where those that share one wait
// milliseconds for each other. What the user has set stays.
void PrepareMpirun(int processes) {
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  if (processes > static_cast<int>(std::thread::hardware_concurrency())) {
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  }
}

// The processes that this one has started: mpirun's ranks, or the only one.
std::vector<RankProcess> StartedRanks(const WatchedCommand& command, int processes) {
  if (processes == 1) {
    return {{.rank = 0, .pid = command.pid(), .stopped = IsStopped(command.pid())}};
  }
  return FindRankProcesses([&command](pid_t parent, std::string_view /*environment*/) {
    return parent == command.pid();
  });
}

// A stopped process does not act on SIGTERM before it goes on; mpirun sees to its ranks.
void EndStarted(WatchedCommand& command, const SignalWaiter& signals) {
  kill(command.pid(), SIGTERM);
  kill(command.pid(), SIGCONT);
  constexpr int kSeconds = 10;
  for (int second = 0; second < kSeconds; ++second) {
    if (command.Wait(signals, std::chrono::seconds(1))) {
      return;
    }
  }
  kill(command.pid(), SIGKILL);
}

// The ranks find a stopped one themselves, and say more of it, while one of them runs until its
// end. This is for what they cannot see.
std::optional<RankProcess> StoppedInVain(const std::vector<RankProcess>& ranks,
                                         const StoppedTimes& times, std::int64_t watchdog_ns) {
  constexpr std::int64_t kForRanksNs = 10'000'000'000;
  const bool others_run = !std::ranges::all_of(ranks, &RankProcess::stopped);
  return times.StoppedFor(ranks, others_run ? 2 * watchdog_ns + kForRanksNs : watchdog_ns);
}

Result<int> RunOnce(const SignalWaiter& signals, int processes, std::int64_t watchdog_ns,
                    const std::vector<std::string>& arguments) {
  std::vector<std::string> command = arguments;
  if (processes > 1) {
    command.insert(command.begin(), {"mpirun", "-n", std::to_string(processes)});
  }
  auto started = WatchedCommand::Start(command);
  if (!started) {
    return EnvironmentError(
        fmt::format("{}; --processes {} needs Open MPI's mpirun on PATH (Debian: openmpi-bin), or "
                    "start the replay with the launcher that you have",
                    started.error().message, processes));
  }
  constexpr std::chrono::milliseconds kLook{500};
  constexpr std::chrono::seconds kLauncherEnds{10};
  StoppedTimes times;
  std::set<std::int32_t> seen;
  std::int64_t alone_ns = 0;
  for (std::int64_t last_ns = MonotonicNs();;) {
    if (const auto ended = started->Wait(signals, kLook)) {
      return *ended;
    }
    const std::int64_t now_ns = MonotonicNs();
    // Where more has passed, this process was stopped, too.
    const std::int64_t passed_ns =
        std::min<std::int64_t>(now_ns - last_ns, 2 * std::chrono::nanoseconds(kLook).count());
    last_ns = now_ns;
    const std::vector<RankProcess> ranks = StartedRanks(*started, processes);
    std::ranges::transform(ranks, std::inserter(seen, seen.end()), &RankProcess::rank);
    alone_ns = ranks.empty() && std::ssize(seen) == processes ? alone_ns + passed_ns : 0;
    if (alone_ns > std::chrono::nanoseconds(kLauncherEnds).count()) {
      EndStarted(*started, signals);
      return EnvironmentError(fmt::format(
          "mpirun (process {}) did not end within {} s of its last rank, so it is ended. Open MPI "
          "4.1 can hang so where ranks end while MPI starts",
          started->pid(), kLauncherEnds.count()));
    }
    times.Add(ranks, passed_ns);
    if (const auto stopped = StoppedInVain(ranks, times, watchdog_ns)) {
      EndStarted(*started, signals);
      return EnvironmentError(fmt::format(
          "rank {} was stopped: its process {} did not run for longer than --watchdog allows, so "
          "the replay is ended",
          stopped->rank, stopped->pid));
    }
  }
}

Status PrintRuns(const std::vector<RepeatedRun>& runs, const RepeatedReplay& replay) {
  const std::size_t middle = MiddleOf(runs);
  const std::int64_t median_ns = (runs[middle].step_ns + runs[runs.size() / 2].step_ns) / 2;
  const std::string& directory = replay.request.run_directory;
  if (replay.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const RepeatedRun& run : runs) {
      rows.push_back({{"path", run.path}, {"step_time_replayed_ns", run.step_ns}});
    }
    const nlohmann::ordered_json json = {{"runs", std::move(rows)},
                                         {"median_ns", median_ns},
                                         {"min_ns", runs.front().step_ns},
                                         {"max_ns", runs.back().step_ns}};
    ShowJson(json, 1);
    return {};
  }
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  if (!replay.quiet) {
    REPRISE_TRY(PrintRunReport(runs[middle].path, false));
  }
  fmt::print(
      "{} runs: step {:.4g} ms (median of the runs' medians), {:.4g} to {:.4g} ms; above is {}\n"
      "compare with others: reprise compare {} OTHER\n",
      runs.size(), ms(median_ns), ms(runs.front().step_ns), ms(runs.back().step_ns),
      fs::path(runs[middle].path).filename().string(), ShownText(directory));
  return {};
}

std::vector<std::string> OwnArguments(const CommandContext& context) {
  std::vector<std::string> arguments(context.argv, context.argv + context.argc);
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    arguments.front() = self.string();
  }
  return arguments;
}

// Of "--name", "--name=value" and "-nvalue": whether it is one of those that a run has of its own,
// and whether its value is the next argument.
std::pair<bool, bool> OfAllRuns(const std::string& argument) {
  for (const std::string name : {"--runs", "--processes", "--output"}) {
    if (argument == name || argument.starts_with(name + "=")) {
      return {true, argument == name};
    }
  }
  const bool short_one = argument.starts_with("-o") || argument.starts_with("-n");
  return {short_one, argument.size() == 2};
}

// The command line of one of the runs: `arguments` without --runs, --processes and -o, with `run`
// as its directory; with --quiet in place of --json where `quiet`. `arguments` begin with the
// program's name.
std::vector<std::string> RunArguments(const std::vector<std::string>& arguments,
                                      const std::string& run, bool quiet) {
  std::vector<std::string> own;
  bool options = true, placed = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    options = options && arguments[i] != "--";
    const bool of_report = arguments[i] == "--quiet" || arguments[i] == "--json";
    if (options && quiet && of_report) {
      continue;
    }
    if (const auto [of_all, has_next] = OfAllRuns(arguments[i]); options && i > 0 && of_all) {
      i += has_next ? 1 : 0;
      continue;
    }
    own.push_back(arguments[i]);
    if (own.back() == "replay" && !placed) {
      placed = true;
      own.insert(own.end(), {"-o", run});
      if (quiet) {
        own.emplace_back("--quiet");
      }
    }
  }
  return own;
}

}  // namespace

void AddRunsFlags(CLI::App& app, RunsFlags& flags) {
  app.add_option("-n,--processes", flags.processes,
                 "start this many processes with mpirun (default with --runs: one for each rank)")
      ->check(Positive());
  app.add_option("--runs", flags.runs,
                 "repeat the replay in new processes, into OUTPUT/run1, OUTPUT/run2, …; prints the "
                 "median and the range of the step times, and `reprise compare` takes OUTPUT")
      ->check(Positive());
}

bool StartsProcesses(const RunsFlags& flags) { return flags.processes > 0 || flags.runs > 0; }

Result<int> RunAsProcesses(const RunsFlags& flags, const RepeatedReplay& replay,
                           const CommandContext& context) {
  const LaunchedRank launched = FindLaunchedRank();
  const std::string& directory = replay.request.run_directory;
  if (!launched.launcher.empty()) {
    return UsageError(fmt::format(
        "--runs and --processes start the processes themselves, which a process of {} cannot do; "
        "without it: reprise replay {} -o {} --processes {} --runs {} …",
        launched.launcher, replay.request.set_directory, directory, launched.world_size,
        std::max(flags.runs, 1)));
  }
  REPRISE_ASSIGN(const int processes, CountProcesses(flags, replay));
  const std::int64_t watchdog_ns = replay.request.options.watchdog_ns;
  PrepareMpirun(processes);
  const SignalWaiter signals;  // before any thread starts
  const std::vector<std::string> arguments = OwnArguments(context);
  if (flags.runs == 0) {
    return RunOnce(signals, processes, watchdog_ns, RunArguments(arguments, directory, false));
  }
  REPRISE_TRY(PrepareDirectoryOfRuns(replay.request));
  std::vector<std::string> finished;
  for (int run = 1; run <= flags.runs; ++run) {
    const std::string path = RunPath(directory, run);
    REPRISE_ASSIGN(const int code, RunOnce(signals, processes, watchdog_ns,
                                           RunArguments(arguments, path, !replay.quiet)));
    if (code != 0) {
      fmt::print(stderr, "reprise: run {} of {} ended with exit code {}; {} complete in {}\n", run,
                 flags.runs, code, run - 1, ShownText(directory));
      return code;
    }
    if (ShownOnTerminal(STDERR_FILENO)) {
      REPRISE_ASSIGN(const std::vector<RepeatedRun> last, ReadRepeats({path}));
      fmt::print(stderr, "run {}/{}: {:.4g} ms\n", run, flags.runs,
                 static_cast<double>(last.front().step_ns) * 1e-6);
    }
    finished.push_back(path);
  }
  REPRISE_ASSIGN(const std::vector<RepeatedRun> runs, ReadRepeats(finished));
  REPRISE_TRY(PrintRuns(runs, replay));
  return 0;
}

}  // namespace reprise
