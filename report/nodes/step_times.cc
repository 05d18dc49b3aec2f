#include "report/nodes/step_times.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/median.h"

namespace reprise {
namespace {

using TimesByIteration = std::map<std::int32_t, std::vector<std::int64_t>>;

// Steps of one trace may differ.
std::vector<std::int64_t> Means(const TimesByIteration& of_iteration) {
  std::vector<std::int64_t> means_ns;
  means_ns.reserve(of_iteration.size());
  for (const auto& [iteration, times_ns] : of_iteration) {
    means_ns.push_back(std::accumulate(times_ns.begin(), times_ns.end(), std::int64_t{0}) /
                       static_cast<std::int64_t>(times_ns.size()));
  }
  return means_ns;
}

}  // namespace

std::vector<std::int64_t> StepTimesNs(std::span<const MeasuredRank> ranks) {
  struct Longest {
    std::size_t ranks = 0;
    std::int64_t duration_ns = 0;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Longest> steps;
  for (const MeasuredRank& rank : ranks) {
    for (const StepRecord& step : rank.steps()) {
      Longest& longest = steps[{step.iteration, step.step}];
      ++longest.ranks;
      longest.duration_ns = std::max(longest.duration_ns, step.duration_ns);
    }
  }
  TimesByIteration of_iteration;
  for (const auto& [key, longest] : steps) {
    if (longest.ranks == ranks.size()) {
      of_iteration[key.first].push_back(longest.duration_ns);
    }
  }
  return Means(of_iteration);
}

std::int64_t CountRecordedSteps(const RankData& data) {
  std::set<std::int32_t> steps;
  std::int32_t last = -1;  // nodes of one step mostly stand together
  for (const NodeInfo& node : data.nodes) {
    if (node.step >= 0 && node.step != last) {
      steps.insert(node.step);
      last = node.step;
    }
  }
  return std::max<std::int64_t>(std::ssize(steps), 1);
}

std::optional<std::int64_t> MedianStepNs(const MeasuredRank& rank) {
  TimesByIteration of_iteration;
  for (const StepRecord& step : rank.steps()) {
    of_iteration[step.iteration].push_back(step.duration_ns);
  }
  std::vector<std::int64_t> times_ns = Means(of_iteration);
  return Median(times_ns);
}

}  // namespace reprise
