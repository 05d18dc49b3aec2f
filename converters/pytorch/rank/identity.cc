#include "converters/pytorch/rank/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>

#include "core/date_text.h"
#include "core/input_file.h"

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kMinuteS = 60;
// Ranks of one host read one clock; between a profiler's start on one rank and on another are
// seconds at most.
constexpr std::int64_t kApartOnOneHostNs = kMinuteS * kNsPerS;
// Clocks of hosts without a time service are off by minutes.
constexpr std::int64_t kApartNs = 10 * kMinuteS * kNsPerS;

bool HasTimes(const KinetoTrace& kineto) {
  return !kineto.untimed && kineto.first_ns <= kineto.last_ns;
}

std::string Account(const HostTrace& host) {
  std::string text = host.process >= 0 ? fmt::format("of process {}", host.process)
                                       : "of a process that it does not name";
  if (host.local_start_s >= 0) {
    text += fmt::format(", recorded from {} of its host's time zone", DateText(host.local_start_s));
  }
  return text;
}

std::string Account(const KinetoTrace& kineto) {
  std::string text = kineto.process >= 0 ? fmt::format("of process {}", kineto.process)
                                         : "of a process that it does not name";
  text += kineto.host_name.empty() ? "" : fmt::format(" on {}", kineto.host_name);
  text += kineto.rank >= 0 ? fmt::format(", rank {} of {}", kineto.rank, kineto.world_size) : "";
  if (HasTimes(kineto)) {
    text += fmt::format(", recorded from {} UTC", DateText(kineto.first_ns / kNsPerS));
  }
  return text;
}

constexpr std::string_view kGiveOneRun = "give files of one rank and one run";

// The size of the group of all ranks; -1: not recorded.
std::int32_t HostWorldSize(const HostTrace& host) {
  const std::uint64_t most = CurrentInputLimits().ranks;  // beyond: damage
  for (const GroupRecord& group : host.groups) {
    if (group.ranks.empty() && group.size > 0 && static_cast<std::uint64_t>(group.size) <= most) {
      return group.size;
    }
  }
  return -1;
}

Status CheckGroups(const RankCapture& rank) {
  for (const GroupRecord& mine : rank.host.groups) {
    for (const GroupRecord& theirs : rank.kineto.groups) {
      const bool sizes = mine.size <= 0 || theirs.size <= 0 || mine.size == theirs.size;
      const bool members = mine.ranks.empty() || theirs.ranks.empty() || mine.ranks == theirs.ranks;
      if (mine.name == theirs.name && mine.description == theirs.description &&
          !(sizes && members)) {
        return BadInput(fmt::format(
            "{}: group {} ({}) has {} ranks in the host trace {}, {} in the Kineto trace; the host "
            "trace is {}, the Kineto trace {}; {}",
            rank.files.kineto, mine.name, mine.description,
            mine.ranks.empty() ? std::to_string(mine.size) : fmt::format("{}", mine.ranks.size()),
            rank.files.host,
            theirs.ranks.empty() ? theirs.size : static_cast<int>(theirs.ranks.size()),
            Account(rank.host), Account(rank.kineto), kGiveOneRun));
      }
    }
  }
  return {};
}

// The least time between the two recordings, over all time zones (quarters of an hour, UTC-12 to
// UTC+14).
std::int64_t ApartS(const HostTrace& host, const KinetoTrace& kineto) {
  constexpr std::int64_t kQuarterS = 15 * kMinuteS;
  constexpr std::int64_t kWestMost = -12 * 4;
  constexpr std::int64_t kEastMost = 14 * 4;
  const std::int64_t length_s = std::max<std::int64_t>(0, host.length_ms) / 1000 + 1;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t zone = kWestMost; zone <= kEastMost; ++zone) {
    const std::int64_t start_s = host.local_start_s - zone * kQuarterS;
    least =
        std::min(least, std::max({std::int64_t{0}, kineto.first_ns / kNsPerS - (start_s + length_s),
                                  start_s - kineto.last_ns / kNsPerS}));
  }
  return least;
}

void CheckStart(RankCapture& rank) {
  constexpr std::int64_t kApartMostS = 5 * kMinuteS;
  if (!HasTimes(rank.kineto) || rank.host.local_start_s < 0) {
    return;
  }
  if (const std::int64_t apart_s = ApartS(rank.host, rank.kineto); apart_s > kApartMostS) {
    rank.diagnostics.Count(
        "files_start_apart",
        fmt::format("{}: {} s at least; the host trace is {}, the Kineto trace {}", rank.label,
                    apart_s, Account(rank.host), Account(rank.kineto)));
  }
}

std::string Account(const RankCapture& rank) {
  const bool host_alone = rank.files.kineto.empty();
  return fmt::format("{} is {}", host_alone ? rank.files.host : rank.files.kineto,
                     host_alone ? Account(rank.host) : Account(rank.kineto));
}

// A host trace beside another rank's Kineto trace: alignment alone takes one for the other.
Status CheckSwaps(std::span<const RankCapture> ranks) {
  for (const RankCapture& rank : ranks) {
    const std::int64_t own = rank.host.process;
    if (own < 0 || rank.files.host.empty() || rank.kineto.process < 0 ||
        own == rank.kineto.process) {
      continue;
    }
    for (const RankCapture& other : ranks) {
      if (&other != &rank && (other.kineto.process == own || other.host.process == own)) {
        return BadInput(fmt::format(
            "{}: the host trace is {}, which is the process of {}; its own Kineto trace {}; are "
            "files swapped or copied? {}",
            rank.files.host, Account(rank.host), other.label, Account(rank), kGiveOneRun));
      }
    }
  }
  return {};
}

Status CheckJob(std::span<const RankCapture> ranks) {
  const RankCapture& first = ranks.front();
  const std::int32_t size = StatedWorldSize(first.host, first.kineto);
  for (const RankCapture& rank : ranks) {
    const std::int32_t own = StatedWorldSize(rank.host, rank.kineto);
    if (own != size) {
      const auto text = [](std::int32_t count) {
        return count < 0 ? std::string("names no number of ranks")
                         : fmt::format("is of a job of {} ranks", count);
      };
      return BadInput(fmt::format(
          "rank {} {}, rank {} {}: the files are of two captures; {}; {}; give files of one run",
          first.rank, text(size), rank.rank, text(own), Account(first), Account(rank)));
    }
    const std::string& backend = rank.kineto.backend;
    if (backend != first.kineto.backend) {
      return BadInput(fmt::format(
          "rank {} has the backend '{}', rank {} '{}': the files are of two captures; {}; {}; give "
          "files of one run",
          first.rank, first.kineto.backend, rank.rank, backend, Account(first), Account(rank)));
    }
  }
  return {};
}

// Between the recordings; 0 where a time is not known.
std::int64_t GapNs(const RankCapture& a, const RankCapture& b) {
  if (HasTimes(a.kineto) && HasTimes(b.kineto)) {
    return std::max({std::int64_t{0}, a.kineto.first_ns - b.kineto.last_ns,
                     b.kineto.first_ns - a.kineto.last_ns});
  }
  const bool hosts = a.host.local_start_s >= 0 && b.host.local_start_s >= 0;
  return hosts ? std::abs(a.host.local_start_s - b.host.local_start_s) * kNsPerS : 0;
}

Status CheckTimes(std::span<const RankCapture> ranks, Diagnostics& diagnostics) {
  const RankCapture& first = ranks.front();
  for (const RankCapture& rank : ranks) {
    const std::int64_t gap_ns = GapNs(first, rank);
    const std::string& host = rank.kineto.host_name;
    if (!host.empty() && host == first.kineto.host_name && gap_ns > kApartOnOneHostNs) {
      return BadInput(fmt::format(
          "rank {} and rank {} were recorded {} s apart on one host, so on one clock: the files "
          "are of two captures; {}; {}; give files of one run",
          first.rank, rank.rank, gap_ns / kNsPerS, Account(first), Account(rank)));
    }
    if (gap_ns > kApartNs) {
      diagnostics.Count("ranks_recorded_apart",
                        fmt::format("rank {}: {} s; {}; {}", rank.rank, gap_ns / kNsPerS,
                                    Account(first), Account(rank)));
    }
  }
  return {};
}

void CountOtherSteps(std::span<const RankCapture> ranks, Diagnostics& diagnostics) {
  const RankCapture& first = ranks.front();
  for (const RankCapture& rank : ranks) {
    const bool shared = std::any_of(rank.steps.begin(), rank.steps.end(), [&](const Step& step) {
      return std::any_of(first.steps.begin(), first.steps.end(),
                         [&](const Step& other) { return step.name == other.name; });
    });
    if (!shared && !rank.step_operations.empty() && !first.step_operations.empty()) {
      diagnostics.Count("ranks_of_other_steps",
                        fmt::format("{} has {}, {} has {}", first.label, first.steps.front().name,
                                    rank.label, rank.steps.front().name));
    }
  }
}

void CountOtherJobs(std::span<const RankCapture> ranks, Diagnostics& diagnostics) {
  const RankCapture& first = ranks.front();
  for (const RankCapture& rank : ranks) {
    if (!rank.meta.job.empty() && !first.meta.job.empty() && rank.meta.job != first.meta.job) {
      diagnostics.Count("ranks_of_other_jobs", fmt::format("{}, {}", first.label, rank.label));
    }
  }
}

void CountCopies(std::span<const RankCapture> ranks, Diagnostics& diagnostics) {
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, const RankCapture*>
      seen;
  for (const RankCapture& rank : ranks) {
    const KinetoTrace& kineto = rank.kineto;
    if (kineto.process < 0 || !HasTimes(kineto)) {
      continue;
    }
    const auto [it, fresh] = seen.try_emplace(
        {kineto.host_name, kineto.process, kineto.first_ns, kineto.last_ns}, &rank);
    if (!fresh) {
      diagnostics.Count("rank_recorded_twice",
                        fmt::format("{}; {}", Account(*it->second), Account(rank)));
    }
  }
}

}  // namespace

std::int32_t StatedWorldSize(const HostTrace& host, const KinetoTrace& kineto) {
  return kineto.world_size > 0 ? static_cast<std::int32_t>(kineto.world_size) : HostWorldSize(host);
}

Status CheckProcess(const HostTrace& host, const KinetoTrace& kineto, const std::string& label) {
  if (host.process < 0 || kineto.process < 0 || host.process == kineto.process) {
    return {};
  }
  return BadInput(fmt::format(
      "{}: host trace and Kineto trace are of two processes: the host trace is {}, the Kineto "
      "trace {}; {}",
      label, Account(host), Account(kineto), kGiveOneRun));
}

Status CheckFiles(RankCapture& rank) {
  const RankFiles& files = rank.files;
  if (files.host.empty() || files.kineto.empty()) {
    return {};
  }
  const std::int32_t host_ranks = HostWorldSize(rank.host);
  if (host_ranks > 0 && rank.kineto.world_size > 0 && host_ranks != rank.kineto.world_size) {
    return BadInput(fmt::format(
        "{}: of a job of {} ranks, {} of one of {}; the host trace is {}, the Kineto trace {}; {}",
        files.host, host_ranks, files.kineto, rank.kineto.world_size, Account(rank.host),
        Account(rank.kineto), kGiveOneRun));
  }
  REPRISE_TRY(CheckGroups(rank));
  CheckStart(rank);
  return {};
}

Status CheckRanks(std::span<const RankCapture> ranks, Diagnostics& diagnostics) {
  if (ranks.size() < 2) {
    return {};
  }
  REPRISE_TRY(CheckSwaps(ranks));
  REPRISE_TRY(CheckJob(ranks));
  REPRISE_TRY(CheckTimes(ranks, diagnostics));
  CountOtherSteps(ranks, diagnostics);
  CountOtherJobs(ranks, diagnostics);
  CountCopies(ranks, diagnostics);
  return {};
}

}  // namespace reprise::pytorch
