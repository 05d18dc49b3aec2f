#include "replayer/plan/graph_steps.h"

#include <algorithm>

namespace reprise {
namespace {

using Index = Graph::Index;

struct RecordedSpan {
  std::vector<std::int64_t> start_ns, end_ns;  // by node
  std::int64_t begin_ns = 0, last_ns = 0;      // of all steps
};

RecordedSpan SpanOfSteps(const Graph& graph) {
  RecordedSpan out;
  out.start_ns.reserve(graph.size());
  out.end_ns.reserve(graph.size());
  for (Index i = 0; i < graph.size(); ++i) {
    out.start_ns.push_back(graph.start_ns(i));
    out.end_ns.push_back(graph.start_ns(i) + graph.duration_ns(i));
  }
  if (const std::vector<Step>& steps = graph.metadata().steps; !steps.empty()) {
    out.begin_ns = steps.front().start_ns;
    out.last_ns = steps.back().start_ns + steps.back().duration_ns;
  } else if (graph.size() > 0) {
    out.begin_ns = *std::min_element(out.start_ns.begin(), out.start_ns.end());
    out.last_ns = *std::max_element(out.end_ns.begin(), out.end_ns.end());
  }
  return out;
}

}  // namespace

std::int32_t StepOf(const Graph& graph, Index i) {
  return graph.metadata().steps.empty() ? 0 : graph.step(i);
}

std::vector<std::int32_t> StepsOfNodes(const Graph& graph) {
  std::vector<std::int32_t> steps(graph.size());
  for (Index i = 0; i < graph.size(); ++i) {
    steps[i] = StepOf(graph, i);
  }
  return steps;
}

StepFrame FrameOf(const Graph& graph) {
  const RecordedSpan span = SpanOfSteps(graph);
  const std::vector<std::int32_t> steps = StepsOfNodes(graph);
  return FrameOfSteps({steps, span.start_ns, span.end_ns},
                      std::max<std::size_t>(graph.metadata().steps.size(), 1), span.begin_ns,
                      span.last_ns);
}

std::int64_t RecordedStepNs(const Graph& graph) {
  const RecordedSpan span = SpanOfSteps(graph);
  const auto count =
      static_cast<std::int64_t>(std::max<std::size_t>(graph.metadata().steps.size(), 1));
  std::int64_t total_ns = graph.metadata().steps.empty() ? span.last_ns - span.begin_ns : 0;
  for (const Step& step : graph.metadata().steps) {
    total_ns += step.duration_ns;
  }
  return total_ns / count;
}

}  // namespace reprise
