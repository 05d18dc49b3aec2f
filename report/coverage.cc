#include "report/coverage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "report/intervals.h"
#include "report/step_times.h"

namespace reprise {
namespace {

// Recorded time per mode, in place of fractions while summing up.
struct ModeTimes {
  double real = 0, surrogate = 0, timed = 0, skipped = 0;

  void Add(ReplayMode mode, double ns) {
    switch (mode) {
      case ReplayMode::kReal:
        real += ns;
        break;
      case ReplayMode::kSurrogate:
        surrogate += ns;
        break;
      case ReplayMode::kTimed:
        timed += ns;
        break;
      case ReplayMode::kSkip:
        skipped += ns;
        break;
    }
  }
  [[nodiscard]] Coverage ToCoverage() const {
    const double total = real + surrogate + timed + skipped;
    if (total <= 0) {
      return {};
    }
    return {real / total, surrogate / total, timed / total, skipped / total, std::llround(total)};
  }
};

// Time between one node's end and the next one's start on each host thread, within a step.
std::int64_t GapsNs(const RankData& data) {
  std::map<std::pair<std::string, std::int32_t>, std::vector<const NodeInfo*>> threads;
  for (const NodeInfo& node : data.nodes) {
    if (IsOfHostThread(node)) {
      threads[{node.actor, node.step}].push_back(&node);
    }
  }
  std::int64_t gaps_ns = 0;
  for (auto& [unused, nodes] : threads) {
    std::sort(nodes.begin(), nodes.end(), [](const NodeInfo* a, const NodeInfo* b) {
      return a->recorded_start_ns < b->recorded_start_ns;
    });
    std::int64_t end_ns = nodes.front()->recorded_start_ns;
    for (const NodeInfo* node : nodes) {
      gaps_ns += std::max<std::int64_t>(0, node->recorded_start_ns - end_ns);
      end_ns = std::max(end_ns, node->recorded_start_ns + node->recorded_duration_ns);
    }
  }
  return gaps_ns;
}

// Time in which a node ran that is replayed as the real operation.
std::int64_t RealUnionNs(const MeasuredRank& rank) {
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < rank.data().nodes.size(); ++i) {
    const NodeInfo& node = rank.data().nodes[i];
    if (node.counts_for_coverage && rank.Mode(i) == ReplayMode::kReal) {
      intervals.emplace_back(node.recorded_start_ns,
                             node.recorded_start_ns + node.recorded_duration_ns);
    }
  }
  return Length(Union(std::move(intervals)));
}

}  // namespace

bool IsOfHostThread(const NodeInfo& node) { return node.actor.starts_with("thread"); }

RankRow IdentifyRank(const MeasuredRank& rank, const RunManifest& manifest) {
  const RankData& data = rank.data();
  RankRow row;
  row.rank = data.rank;
  row.iterations = rank.iterations();
  const auto index = static_cast<std::size_t>(data.rank);
  row.clock_uncertainty_ns = data.clock_uncertainty_ns;
  row.host = index < manifest.hosts.size() ? manifest.hosts[index] : data.host;
  if (index < manifest.devices.size()) {
    row.device = manifest.devices[index];
  } else if (!data.devices.empty()) {
    row.device = data.devices.front().backend + ": " + data.devices.front().name;
  }
  row.step_time_recorded_ns = NumberFact(data, kFactRecordedStepNs);
  row.step_time_replayed_ns = MedianStepNs(rank);
  return row;
}

void DescribeNodes(const MeasuredRank& rank, RankRow& row) {
  const RankData& data = rank.data();
  row.nodes = static_cast<std::int64_t>(data.nodes.size());
  ModeTimes times;
  std::set<std::int32_t> steps;
  for (std::size_t i = 0; i < data.nodes.size(); ++i) {
    const NodeInfo& node = data.nodes[i];
    steps.insert(node.step);
    if (node.counts_for_coverage) {
      times.Add(rank.Mode(i), static_cast<double>(node.recorded_duration_ns));
    } else if (node.kind == OpKind::kWait) {
      row.wait_ns += node.recorded_duration_ns;
    } else {
      row.host_ns += node.recorded_duration_ns;
    }
  }
  row.coverage = times.ToCoverage();
  row.delay_ns = GapsNs(data);
  row.real_ns = RealUnionNs(rank);
  row.recorded_steps = static_cast<std::int64_t>(std::max<std::size_t>(steps.size(), 1));
}

Coverage SumCoverage(std::span<const RankRow> ranks) {
  ModeTimes times;
  for (const RankRow& row : ranks) {
    const auto recorded_ns = static_cast<double>(row.coverage.recorded_ns);
    times.Add(ReplayMode::kReal, row.coverage.real * recorded_ns);
    times.Add(ReplayMode::kSurrogate, row.coverage.surrogate * recorded_ns);
    times.Add(ReplayMode::kTimed, row.coverage.timed * recorded_ns);
    times.Add(ReplayMode::kSkip, row.coverage.skipped * recorded_ns);
  }
  return times.ToCoverage();
}

double CoverageOfStep(std::span<const RankRow> ranks) {
  double covered_ns = 0;
  double steps_ns = 0;
  for (const RankRow& row : ranks) {
    if (row.step_time_recorded_ns) {
      covered_ns += static_cast<double>(row.real_ns);
      steps_ns +=
          static_cast<double>(*row.step_time_recorded_ns) * static_cast<double>(row.recorded_steps);
    }
  }
  return steps_ns > 0 ? std::min(1.0, covered_ns / steps_ns) : 0;
}

}  // namespace reprise
