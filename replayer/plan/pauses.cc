#include "replayer/plan/pauses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "replayer/plan/recorded_times.h"

namespace reprise {
namespace {

bool UsesStream(const Graph& graph) {
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (graph.actor(i).kind == Actor::Kind::kStream) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsPause(const Graph& graph, Graph::Index i) {
  return graph.comm(i) == nullptr && graph.actor(i).kind != Actor::Kind::kStream &&
         graph.kind(i) != OpKind::kWork && !IsWait(graph, i);
}

double PauseFactor(const Graph& graph) {
  const TraceMetadata& metadata = graph.metadata();
  if (metadata.untraced_step_ns <= 0 || metadata.steps.empty() || UsesStream(graph)) {
    return 1;
  }
  const std::int64_t begin_ns = metadata.steps.front().start_ns;
  const std::int64_t end_ns = metadata.steps.back().start_ns + metadata.steps.back().duration_ns;
  const RecordedTimes times = RecordedTimesOf(graph);
  std::vector<std::pair<std::int64_t, std::int64_t>> busy;
  double node_ns = 0, traced_ns = 0;  // of nodes that are no pauses, added up
  double pause_tracing_ns = 0;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const std::int64_t from_ns = std::max(times.start_ns[i], begin_ns);
    const std::int64_t to_ns = std::min(times.end_ns[i], end_ns);
    if (from_ns > to_ns) {
      continue;
    }
    pause_tracing_ns += static_cast<double>(graph.tracing_delay_ns(i));
    if (IsPause(graph, i)) {
      pause_tracing_ns += static_cast<double>(graph.tracing_ns(i));
    } else {
      busy.emplace_back(from_ns, to_ns);
      node_ns += static_cast<double>(to_ns - from_ns);
      traced_ns += static_cast<double>(graph.tracing_ns(i));
    }
  }
  std::ranges::sort(busy);
  std::int64_t busy_ns = 0, at_ns = begin_ns;
  for (const auto& [from_ns, to_ns] : busy) {
    busy_ns += std::max<std::int64_t>(0, to_ns - std::max(from_ns, at_ns));
    at_ns = std::max(at_ns, to_ns);
  }
  const auto recorded_ns = static_cast<double>(end_ns - begin_ns - busy_ns);
  const double pause_ns = recorded_ns - pause_tracing_ns;
  if (pause_ns <= 0) {
    return 1;
  }
  const double untraced_share = node_ns > 0 ? 1 - traced_ns / node_ns : 1;
  const double left_ns =
      static_cast<double>(metadata.untraced_step_ns) * static_cast<double>(metadata.steps.size()) -
      static_cast<double>(busy_ns) * untraced_share;
  return std::clamp(left_ns, 0.0, recorded_ns) / pause_ns;
}

}  // namespace reprise
