#include "converters/astra_sim/rank_times.h"

#include <algorithm>

namespace reprise::astra_sim {
namespace {

std::int64_t RoundedUs(std::int64_t ns) { return (std::max<std::int64_t>(ns, 0) + 500) / kNsPerUs; }

}  // namespace

RankTimes::RankTimes(const Graph& graph)
    : start_us(graph.size()), end_us(graph.size()), ready_us(graph.size()) {
  // The first step begins before its first node (core/timing/steps.h).
  const std::vector<Step>& steps = graph.metadata().steps;
  std::int64_t origin_ns = steps.empty() ? INT64_MAX : steps.front().start_ns;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (graph.deps(i).empty()) {
      origin_ns = std::min(origin_ns, graph.delay_ns(i));
    }
  }
  std::vector<std::int64_t> end_ns(graph.size());
  for (const Graph::Index i : graph.order()) {
    std::int64_t ready_ns = graph.deps(i).empty() ? -origin_ns : INT64_MIN;
    for (const Graph::Index dep : graph.deps(i)) {
      ready_ns = std::max(ready_ns, end_ns[dep]);
      ready_us[i] = std::max(ready_us[i], end_us[dep]);
    }
    const std::int64_t start_ns = ready_ns + graph.delay_ns(i);
    end_ns[i] = start_ns + graph.duration_ns(i);
    start_us[i] = std::max(RoundedUs(start_ns), ready_us[i]);
    end_us[i] = std::max(RoundedUs(end_ns[i]), start_us[i]);
  }
  std::vector<Busy> all;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (graph.comm(i) == nullptr && graph.kind(i) != OpKind::kWait && end_us[i] > start_us[i]) {
      all.push_back({start_us[i], end_us[i]});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Busy& a, const Busy& b) { return a.from_us < b.from_us; });
  for (const Busy& one : all) {
    if (!busy_.empty() && one.from_us <= busy_.back().to_us) {
      busy_.back().to_us = std::max(busy_.back().to_us, one.to_us);
    } else {
      busy_.push_back(one);
    }
  }
}

std::int64_t RankTimes::IdleUs(std::int64_t from_us, std::int64_t to_us) const {
  std::int64_t idle_us = std::max<std::int64_t>(to_us - from_us, 0);
  auto at = std::upper_bound(busy_.begin(), busy_.end(), from_us,
                             [](std::int64_t us, const Busy& busy) { return us < busy.to_us; });
  for (; at != busy_.end() && at->from_us < to_us; ++at) {
    idle_us -= std::min(at->to_us, to_us) - std::max(at->from_us, from_us);
  }
  return std::max<std::int64_t>(idle_us, 0);
}

}  // namespace reprise::astra_sim
