#include "report/run/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace reprise {
namespace {

using Clocks = std::map<std::string, HostClock>;  // by host

// One rank of each host has the readings.
std::optional<Clocks> ClocksFrom(const RunData& run,
                                 std::vector<ClockReading> RankFacts::*readings) {
  Clocks clocks;
  for (const RankData& rank : run.ranks) {
    if (!(rank.facts.*readings).empty()) {
      clocks.try_emplace(rank.host, rank.facts.*readings);
    }
  }
  const bool all = std::ranges::all_of(
      run.ranks, [&clocks](const RankData& r) { return clocks.contains(r.host); });
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
  for (std::optional<std::int64_t>* time_ns :
       {&rank.facts.idle_begin_ns, &rank.facts.idle_end_ns}) {
    if (*time_ns) {
      visit(**time_ns);
    }
  }
}

// From Unix time to a host's clock: the readings the other way round. What a nanosecond of drift
// does to the times of the readings themselves is beyond their uncertainty.
HostClock Inverse(const HostClock& clock, const RankData& rank) {
  std::vector<ClockReading> readings = rank.facts.wall_readings;
  for (ClockReading& reading : readings) {
    reading.at_ns = clock.ToReference(reading.at_ns);
    reading.offset_ns = -reading.offset_ns;
  }
  return HostClock(std::move(readings));
}

}  // namespace

ClockRelation::ClockRelation(const RunData& run) {
  one_host_ = std::ranges::all_of(
      run.ranks, [&run](const RankData& r) { return r.host == run.ranks.front().host; });
  if (one_host_) {
    return;
  }
  if (auto clocks = ClocksFrom(run, &RankFacts::clock_readings)) {
    clocks_ = std::move(*clocks);
  } else if (auto wall = ClocksFrom(run, &RankFacts::wall_readings)) {
    const auto first = std::ranges::find_if(
        run.ranks, [](const RankData& rank) { return !rank.facts.wall_readings.empty(); });
    clocks_ = std::move(*wall);
    by_wall_clock_ = true;
    wall_reference_ = first->host;
    back_ = Inverse(clocks_.at(first->host), *first);
  }
}

void ClockRelation::Move(RankData& rank) const {
  const auto clock = clocks_.find(rank.host);
  if (one_host_ || (by_wall_clock_ && rank.host == wall_reference_)) {
    rank.clock_uncertainty_ns = 0;
    return;
  }
  if (clock == clocks_.end()) {
    return;
  }
  std::int64_t first_ns = INT64_MAX;
  std::int64_t last_ns = INT64_MIN;
  for (const StepRecord& step : rank.steps) {
    last_ns = std::max(last_ns, step.start_ns + step.duration_ns);
  }
  VisitTimes(rank, [&](std::int64_t& time_ns) {
    first_ns = std::min(first_ns, time_ns);
    last_ns = std::max(last_ns, time_ns);
    time_ns = back_.ToReference(clock->second.ToReference(time_ns));
  });
  rank.clock_uncertainty_ns = 0;
  if (first_ns <= last_ns) {
    rank.clock_uncertainty_ns = clock->second.UncertaintyNs(first_ns, last_ns) +
                                back_.UncertaintyNs(clock->second.ToReference(first_ns),
                                                    clock->second.ToReference(last_ns));
  }
}

void RelateClocks(RunData& run, const ClockRelation& relation) {
  std::int64_t worst_ns = 0;
  for (RankData& rank : run.ranks) {
    relation.Move(rank);
    worst_ns = std::max(worst_ns, rank.clock_uncertainty_ns.value_or(0));
  }
  if (relation.by_wall_clock()) {
    run.notes.push_back(fmt::format(
        "the hosts' clocks are related by their wall clocks only: to {:.1f} ms, as they say",
        static_cast<double>(worst_ns) * 1e-6));
  }
}

}  // namespace reprise
