#include "cli/replay/rank_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/clock.h"
#include "core/result.h"
#include "core/temporary_output.h"
#include "core/text.h"
#include "report/run/run.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondNs = 1'000'000'000;

double Seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "NAME=value" in an environment as /proc has it; nothing if there is no such variable.
std::optional<std::string_view> Variable(std::string_view environment, std::string_view name) {
  for (const std::string_view entry : SplitText(environment, '\0')) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return entry;
    }
  }
  return std::nullopt;
}

std::optional<std::int32_t> RankIn(std::string_view environment) {
  for (const std::string_view name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const auto entry = Variable(environment, name)) {
      return ParseNumber<std::int32_t>(entry->substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

// What tells the processes of this job from those of others.
std::vector<std::string> VariablesOfJob() {
  const std::string environment = ReadAll("/proc/self/environ");
  if (const auto job = Variable(environment, "PMIX_NAMESPACE")) {
    return {std::string(*job)};
  }
  std::vector<std::string> found;
  for (const char* const name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    if (const auto entry = Variable(environment, name)) {
      found.emplace_back(*entry);
    }
  }
  return found;
}

struct ProcessState {
  bool stopped = false;
  pid_t parent = 0;
};

ProcessState StateOf(pid_t pid) {
  const std::string stat = ReadAll(fmt::format("/proc/{}/stat", pid));
  // "PID (NAME) STATE PARENT …"; the name may hold anything.
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) {
    return {};  // it has ended
  }
  const auto fields = SplitText(std::string_view(stat).substr(name_end + 2), ' ');
  return {.stopped = fields[0] == "T",
          .parent = fields.size() < 2 ? 0 : ParseNumber<pid_t>(fields[1]).value_or(0)};
}

[[noreturn]] void EndProcess(const std::string& message) {
  fmt::print(stderr, "reprise: {}\n", message);
  std::fflush(stderr);
  RemoveTemporaryOutputs();
  std::_Exit(static_cast<int>(ErrorKind::kEnvironment));  // the launcher then ends the others
}

}  // namespace

bool IsStopped(pid_t pid) { return StateOf(pid).stopped; }

std::vector<RankProcess> FindRankProcesses(
    const std::function<bool(pid_t parent, std::string_view environment)>& chosen) {
  std::vector<RankProcess> found;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const auto pid = ParseNumber<pid_t>(it->path().filename().string());
    if (!pid) {
      continue;
    }
    const std::string environment = ReadAll(it->path() / "environ");
    const auto rank = RankIn(environment);
    if (!rank) {
      continue;
    }
    const ProcessState state = StateOf(*pid);
    if (chosen(state.parent, environment)) {
      found.push_back({*rank, *pid, state.stopped});
    }
  }
  std::ranges::sort(found, {}, &RankProcess::rank);
  return found;
}

void StoppedTimes::Add(const std::vector<RankProcess>& processes, std::int64_t passed_ns) {
  std::map<pid_t, std::int64_t> now;
  for (const RankProcess& process : processes) {
    if (process.stopped) {
      const auto before = stopped_ns_.find(process.pid);
      now[process.pid] = before == stopped_ns_.end() ? 0 : before->second + passed_ns;
    }
  }
  stopped_ns_ = std::move(now);
}

std::optional<RankProcess> StoppedTimes::StoppedFor(const std::vector<RankProcess>& processes,
                                                    std::int64_t limit_ns) const {
  for (const RankProcess& process : processes) {
    const auto found = stopped_ns_.find(process.pid);
    if (found != stopped_ns_.end() && found->second >= limit_ns) {
      return process;
    }
  }
  return std::nullopt;
}

RankWatch::RankWatch(LaunchedRank own, std::int64_t limit_ns, std::string_view option)
    : own_(std::move(own)), limit_ns_(limit_ns), option_(option), job_(VariablesOfJob()) {
  if (own_.world_size > 1 && !job_.empty()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
  }
}

RankWatch::~RankWatch() = default;

void RankWatch::LeaveToWatchdog() { left_ns_ = MonotonicNs(); }

void RankWatch::Loop(const std::stop_token& stop) {
  const std::int64_t tick_ns = std::clamp(limit_ns_ / 20, kSecondNs / 50, 5 * kSecondNs);
  std::int64_t last_ns = MonotonicNs();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, std::chrono::nanoseconds(tick_ns), [] { return false; }) &&
         !stop.stop_requested()) {
    const std::int64_t now_ns = MonotonicNs();
    if (now_ns - left_ns_ < kSecondNs) {
      stopped_.Clear();
    } else {
      // More has passed where this process was stopped, or had no core.
      Look(std::min(now_ns - last_ns, 2 * tick_ns));
    }
    last_ns = now_ns;
  }
}

void RankWatch::Look(std::int64_t passed_ns) {
  const std::vector<RankProcess> here =
      FindRankProcesses([this](pid_t /*parent*/, std::string_view environment) {
        return std::ranges::all_of(job_, [environment](const std::string& entry) {
          return Variable(environment, entry.substr(0, entry.find('='))) == entry;
        });
      });
  stopped_.Add(here, passed_ns);
  std::set<std::int32_t> stopped_now;
  for (const RankProcess& process : here) {
    seen_.insert(process.rank);
    if (process.stopped) {
      stopped_now.insert(process.rank);
    }
  }
  // One rank prints the message. Where it does not, also because it has ended, the others do.
  const auto first = std::ranges::find_if(
      seen_, [&stopped_now](std::int32_t rank) { return !stopped_now.contains(rank); });
  const bool speaks = first == seen_.end() || *first == own_.rank;
  const std::int64_t limit_ns = limit_ns_ + (speaks ? 0 : 2 * kSecondNs);
  const std::string of_option = option_.empty() ? "" : fmt::format(" ({})", option_);
  if (const auto stopped = stopped_.StoppedFor(here, limit_ns)) {
    EndProcess(
        fmt::format("rank {} is stopped: its process {} has not run for {:.3g} s{}{}; the other "
                    "ranks wait for it, so the job ends",
                    stopped->rank, stopped->pid, Seconds(limit_ns_), of_option,
                    mpi_started_ ? "" : ", while MPI starts"));
  }
  if (mpi_started_) {
    return;
  }
  starting_ns_ += passed_ns;
  // Those that are here come, though perhaps late, or are stopped. Another host may know more.
  const bool all_came = static_cast<std::int32_t>(seen_.size()) >= own_.world_size;
  const std::int64_t grace_ns = std::clamp(limit_ns_ / 4, kSecondNs, 15 * kSecondNs);
  if (starting_ns_ >= (all_came ? kPatienceOverLimit * limit_ns : limit_ns + grace_ns)) {
    EndProcess(fmt::format(
        "MPI has not started within {:.3g} s{}: at least one of {} ranks did not come. On {} there "
        "are {}; which one is missing is not known.{}",
        Seconds(starting_ns_), of_option, own_.world_size, HostName(), fmt::join(seen_, ", "),
        option_.empty()
            ? ""
            : fmt::format(" Where processes start slowly, give {} more seconds", option_)));
  }
}

}  // namespace reprise
