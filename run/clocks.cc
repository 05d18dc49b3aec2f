#include "run/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include "core/host_clock.h"

namespace reprise {
namespace {

using Clocks = std::map<std::string, HostClock>;  // by host

// One rank of each host has the readings.
std::optional<Clocks> ClocksFrom(const RunData& run, const char* fact) {
  Clocks clocks;
  for (const RankData& rank : run.ranks) {
    const auto found = rank.facts.find(fact);
    auto readings = found == rank.facts.end() ? std::nullopt : ParseReadings(found->second);
    if (readings && !readings->empty()) {
      clocks.try_emplace(rank.host, std::move(*readings));
    }
  }
  const bool all = std::all_of(run.ranks.begin(), run.ranks.end(),
                               [&clocks](const RankData& r) { return clocks.contains(r.host); });
  return all ? std::optional(std::move(clocks)) : std::nullopt;
}

// Every time of the rank that the host's clock gave.
template <typename Visit>
void VisitTimes(RankData& rank, const Visit& visit) {
  for (NodeRecord& record : rank.records) {
    visit(record.start_ns);
  }
  for (StepRecord& step : rank.steps) {
    visit(step.start_ns);
  }
  for (Sample& sample : rank.samples) {
    visit(sample.time_ns);
  }
  for (const char* fact : {kFactIdleBeginNs, kFactIdleEndNs}) {
    const auto found = rank.facts.find(fact);
    std::int64_t time_ns = 0;
    if (found == rank.facts.end() ||
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), time_ns)
                .ec != std::errc()) {
      continue;
    }
    visit(time_ns);
    found->second = std::to_string(time_ns);
  }
}

// `back` leads from the reference to rank 0's clock.
void Move(RankData& rank, const HostClock& clock, const HostClock& back) {
  std::int64_t first_ns = INT64_MAX;
  std::int64_t last_ns = INT64_MIN;
  VisitTimes(rank, [&](std::int64_t& time_ns) {
    first_ns = std::min(first_ns, time_ns);
    last_ns = std::max(last_ns, time_ns);
    time_ns = back.ToReference(clock.ToReference(time_ns));
  });
  rank.clock_uncertainty_ns = 0;
  if (first_ns <= last_ns) {
    rank.clock_uncertainty_ns =
        clock.UncertaintyNs(first_ns, last_ns) +
        back.UncertaintyNs(clock.ToReference(first_ns), clock.ToReference(last_ns));
  }
}

// From Unix time to a host's clock: the readings the other way round. What a nanosecond of drift
// does to the times of the readings themselves is beyond their uncertainty.
HostClock Inverse(const HostClock& clock, const RankData& rank) {
  std::vector<ClockReading> readings = *ParseReadings(rank.facts.at(kFactWallReadings));
  for (ClockReading& reading : readings) {
    reading.at_ns = clock.ToReference(reading.at_ns);
    reading.offset_ns = -reading.offset_ns;
  }
  return HostClock(std::move(readings));
}

void RelateByWallClock(RunData& run, const Clocks& clocks) {
  const auto first = std::find_if(run.ranks.begin(), run.ranks.end(), [](const RankData& rank) {
    return rank.facts.contains(kFactWallReadings);
  });
  const std::string host = first->host;
  const HostClock back = Inverse(clocks.at(host), *first);
  std::int64_t worst_ns = 0;
  for (RankData& rank : run.ranks) {
    if (rank.host == host) {
      rank.clock_uncertainty_ns = 0;
      continue;
    }
    Move(rank, clocks.at(rank.host), back);
    worst_ns = std::max(worst_ns, *rank.clock_uncertainty_ns);
  }
  run.notes.push_back(fmt::format(
      "the hosts' clocks are related by their wall clocks only: to {:.1f} ms, as they say",
      static_cast<double>(worst_ns) * 1e-6));
}

}  // namespace

void RelateClocks(RunData& run) {
  const bool one_host = std::all_of(run.ranks.begin(), run.ranks.end(), [&run](const RankData& r) {
    return r.host == run.ranks.front().host;
  });
  if (one_host) {
    for (RankData& rank : run.ranks) {
      rank.clock_uncertainty_ns = 0;
    }
  } else if (const auto clocks = ClocksFrom(run, kFactClockReadings)) {
    for (RankData& rank : run.ranks) {
      Move(rank, clocks->at(rank.host), HostClock({}));
    }
  } else if (const auto wall = ClocksFrom(run, kFactWallReadings)) {
    RelateByWallClock(run, *wall);
  }
}

}  // namespace reprise
