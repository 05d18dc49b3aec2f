#include "report/timeline/run_clocks.h"

#include <algorithm>
#include <map>
#include <set>

#include "report/nodes/measured.h"

namespace reprise {
namespace {

using Optional = std::optional<std::int64_t>;

// When the first measured iteration that is shown began; else the first of any kind, else the first
// record. Nothing ran: nothing.
Optional FirstReplayedNs(const RankData& data, const RunTimelineOptions& options) {
  Optional measured, any;
  const auto earlier = [](Optional& to, std::int64_t ns) { to = std::min(to.value_or(ns), ns); };
  for (const StepRecord& step : data.steps) {
    if (Matches(options.step, step.step) && Matches(options.iteration, step.iteration)) {
      earlier(any, step.start_ns);
      if (!step.warmup) {
        earlier(measured, step.start_ns);
      }
    }
  }
  if (!any) {
    for (const NodeRecord& record : data.records) {
      if (Matches(options.step, record.step) && Matches(options.iteration, record.iteration)) {
        earlier(any, record.start_ns);
      }
    }
  }
  return measured ? measured : any;
}

Optional FirstRecordedNs(const RankData& data, const RunTimelineOptions& options) {
  Optional first;
  for (const NodeInfo& node : data.nodes) {
    if (Matches(options.step, node.step)) {
      first = std::min(first.value_or(node.recorded_start_ns), node.recorded_start_ns);
    }
  }
  return first;
}

// What ranks' clocks have in common, as shifts to subtract; ranks of one key are comparable.
struct SharedClock {
  std::vector<std::string> key;        // by rank shown
  std::vector<std::int64_t> shift_ns;  // by rank shown
};

SharedClock ReplayedClock(const std::vector<const RankData*>& ranks,
                          std::vector<std::string>& notes) {
  SharedClock clock;
  bool related = true;
  std::set<std::string> hosts;
  for (const RankData* rank : ranks) {
    related = related && rank->clock_uncertainty_ns.has_value();
    hosts.insert(rank->host);
  }
  for (const RankData* rank : ranks) {
    clock.key.push_back(related ? "" : rank->host);
    clock.shift_ns.push_back(0);
  }
  if (hosts.size() > 1 && !related) {
    notes.emplace_back(
        "the hosts' clocks are not related: ranks of different hosts are aligned by their first "
        "iteration");
  }
  return clock;
}

SharedClock RecordedClock(const std::vector<const RankData*>& ranks,
                          std::vector<std::string>& notes) {
  SharedClock clock;
  const bool bases = std::ranges::all_of(
      ranks, [](const RankData* rank) { return rank->facts.trace_base_ns.has_value(); });
  for (const RankData* rank : ranks) {
    clock.key.push_back(bases ? "" : std::to_string(rank->rank));
    clock.shift_ns.push_back(bases ? -*rank->facts.trace_base_ns : 0);
  }
  if (ranks.size() > 1 && !bases) {
    notes.emplace_back(
        "the run does not say how the ranks' recorded clocks relate: recorded ranks are aligned by "
        "their first operation");
  }
  return clock;
}

// Each rank's origin: the earliest `first` of all ranks that share its clock.
template <typename First>
std::vector<std::int64_t> Origins(const std::vector<const RankData*>& ranks,
                                  const SharedClock& clock, const First& first) {
  std::map<std::string, std::int64_t> earliest;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (const Optional ns = first(*ranks[i])) {
      const std::int64_t shared_ns = *ns - clock.shift_ns[i];
      const auto [at, added] = earliest.try_emplace(clock.key[i], shared_ns);
      at->second = std::min(at->second, shared_ns);
    }
  }
  std::vector<std::int64_t> origins;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    origins.push_back(earliest[clock.key[i]] + clock.shift_ns[i]);
  }
  return origins;
}

}  // namespace

std::vector<RankOrigins> ChooseOrigins(const std::vector<const RankData*>& ranks,
                                       const RunTimelineOptions& options,
                                       std::vector<std::string>& notes) {
  const std::vector<std::int64_t> replayed_ns =
      Origins(ranks, ReplayedClock(ranks, notes),
              [&options](const RankData& data) { return FirstReplayedNs(data, options); });
  const std::vector<std::int64_t> recorded_ns =
      Origins(ranks, RecordedClock(ranks, notes),
              [&options](const RankData& data) { return FirstRecordedNs(data, options); });
  std::vector<RankOrigins> origins;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    origins.push_back({replayed_ns[i], recorded_ns[i]});
  }
  return origins;
}

}  // namespace reprise
