#include "report/operations/run_power.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "report/energy/power_peaks.h"
#include "report/energy/series.h"
#include "report/nodes/intervals.h"
#include "report/nodes/measured.h"

namespace reprise {
namespace {

// Of the measured steps; empty where there are none.
Interval MeasuredWindow(const RankData& rank) {
  Interval window = {INT64_MAX, INT64_MIN};
  for (const StepRecord& step : rank.steps) {
    if (!step.warmup) {
      window.first = std::min(window.first, step.start_ns);
      window.second = std::max(window.second, step.start_ns + step.duration_ns);
    }
  }
  return window;
}

bool IsPower(const Metric& metric) {
  return MeasuresEnergy(metric) && metric.name != "memory_power";
}

// A device's counter of joules, where its power is read, too.
bool IsReadTwice(const RankData& rank, const Metric& metric) {
  return metric.kind == MetricKind::kEnergy &&
         std::ranges::any_of(rank.metrics, [&metric](const Metric& other) {
           return IsPower(other) && other.kind != MetricKind::kEnergy &&
                  other.device == metric.device && other.source == metric.source;
         });
}

// The operations of a host's ranks that lay in intervals. A simulated device has those of its rank.
std::vector<PathPart> OperationsIn(const RunData& run, const RankData& sampled_by,
                                   const std::vector<Interval>& intervals) {
  std::map<std::string, std::int64_t> times;
  for (const RankData& rank : run.ranks) {
    if (IsModelled(sampled_by) ? rank.rank != sampled_by.rank : rank.host != sampled_by.host) {
      continue;
    }
    std::unordered_map<std::uint64_t, const NodeInfo*> nodes;
    for (const NodeInfo& node : rank.nodes) {
      if (node.counts_for_coverage) {
        nodes.emplace(node.node_id, &node);
      }
    }
    for (const NodeRecord& record : rank.records) {
      const auto node = nodes.find(record.node_id);
      if (node == nodes.end() || record.mode == ReplayMode::kSkip) {
        continue;
      }
      const std::int64_t end_ns = record.start_ns + record.duration_ns;
      auto at = std::upper_bound(
          intervals.begin(), intervals.end(), record.start_ns,
          [](std::int64_t ns, const Interval& interval) { return ns < interval.second; });
      for (; at != intervals.end() && at->first < end_ns; ++at) {
        times[node->second->name] +=
            std::min(end_ns, at->second) - std::max(record.start_ns, at->first);
      }
    }
  }
  constexpr std::size_t kMaxOperations = 5;
  std::vector<PathPart> out;
  out.reserve(times.size());
  for (const auto& [name, ns] : times) {
    out.push_back({name, ns});
  }
  std::ranges::stable_sort(out, std::greater(), &PathPart::ns);
  out.resize(std::min(out.size(), kMaxOperations));
  return out;
}

// How many of the intervals throttling followed; nothing where the device does not say.
std::optional<std::int64_t> ThrottledAfter(const RankData& rank, const SampleTable& samples,
                                           const Metric& power, Interval window,
                                           const std::vector<Interval>& intervals) {
  window.second += kThrottleFollowsNs;
  for (const Metric& metric : rank.metrics) {
    if (metric.name != "throttle_reasons" || metric.device != power.device) {
      continue;
    }
    std::int64_t followed = 0;
    const std::vector<SeriesStep> states = samples.Steps(metric, window);
    for (const Interval& interval : intervals) {
      followed +=
          std::ranges::any_of(states,
                              [&interval](const SeriesStep& state) {
                                return state.value > 0 && state.end_ns > interval.first &&
                                       state.begin_ns <= interval.second + kThrottleFollowsNs;
                              })
              ? 1
              : 0;
    }
    return followed;
  }
  return std::nullopt;
}

double JoulesIn(const std::vector<SeriesStep>& watts, Interval window) {
  double joules = 0;
  for (const SeriesStep& step : watts) {
    const std::int64_t ns =
        std::min(step.end_ns, window.second) - std::max(step.begin_ns, window.first);
    joules += ns > 0 ? step.value * static_cast<double>(ns) * 1e-9 : 0;
  }
  return joules;
}

}  // namespace

std::vector<PeakOfPower> FindPowerPeaks(const RunData& run) {
  std::vector<PeakOfPower> out;
  for (const RankData& rank : run.ranks) {
    const Interval window = MeasuredWindow(rank);
    if (rank.samples.empty() || window.first > window.second) {
      continue;
    }
    const SampleTable samples(rank);
    for (const Metric& metric : rank.metrics) {
      if (!IsPower(metric) || IsReadTwice(rank, metric)) {
        continue;
      }
      const std::vector<SeriesStep> watts = samples.Steps(metric, window);
      const auto row = DescribePeaks(watts, std::nullopt);
      if (!row || row->excursions == 0) {
        continue;
      }
      std::vector<Interval> intervals;
      for (const SeriesStep& step : watts) {
        if (step.value > row->threshold_watts) {
          intervals.emplace_back(step.begin_ns, step.end_ns);
        }
      }
      intervals = Union(std::move(intervals));
      out.push_back({.host = rank.host,
                     .device = metric.device,
                     .metric = metric.name,
                     .modelled = metric.modelled,
                     .threshold_watts = row->threshold_watts,
                     .most_watts = row->max_watts,
                     .peaks = row->excursions,
                     .ns = row->excursion_ns,
                     .throttled = ThrottledAfter(rank, samples, metric, window, intervals),
                     .operations = OperationsIn(run, rank, intervals)});
    }
  }
  return out;
}

std::map<PassKind, PassEnergy> EnergyOfPasses(const RunData& run, const RankOperations& rank,
                                              const InferencePhases& phases) {
  std::unordered_map<std::uint64_t, std::size_t> pass_of;  // by node
  for (std::size_t p = 0; p < phases.passes.size(); ++p) {
    for (std::uint32_t i = phases.passes[p].first; i < phases.passes[p].last; ++i) {
      pass_of[rank.operations[i].node_id] = p;
    }
  }
  std::map<std::pair<std::int32_t, std::size_t>, Interval> windows;  // by iteration and pass
  std::set<std::int32_t> measured;
  for (const RankData& data : run.ranks) {
    if (data.rank != rank.rank) {
      continue;
    }
    for (const StepRecord& step : data.steps) {
      if (!step.warmup) {
        measured.insert(step.iteration);
      }
    }
    for (const NodeRecord& record : data.records) {
      const auto pass = pass_of.find(record.node_id);
      if (pass != pass_of.end() && measured.contains(record.iteration)) {
        const Interval of = {record.start_ns, record.start_ns + record.duration_ns};
        const auto [at, added] = windows.try_emplace({record.iteration, pass->second}, of);
        at->second = {std::min(at->second.first, of.first), std::max(at->second.second, of.second)};
      }
    }
  }
  std::map<PassKind, PassEnergy> out;
  for (const RankData& data : run.ranks) {
    if (data.host != rank.host || data.samples.empty()) {
      continue;
    }
    const SampleTable samples(data);
    std::set<std::string> devices;  // each once: an energy counter or a power
    for (const Metric& metric : data.metrics) {
      if (!IsPower(metric) || !devices.insert(metric.source + " " + metric.device).second) {
        continue;
      }
      const std::vector<SeriesStep> watts = samples.Steps(metric, MeasuredWindow(data));
      for (const auto& [key, window] : windows) {
        out[phases.passes[key.second].kind].joules +=
            JoulesIn(watts, window) / static_cast<double>(measured.size());
      }
    }
  }
  if (!out.empty()) {
    for (const InferencePass& pass : phases.passes) {
      out[pass.kind].tokens += pass.sequences * pass.tokens;
    }
  }
  return out;
}

}  // namespace reprise
