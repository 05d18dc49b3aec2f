#include "timing/attribution.h"

#include <numeric>

namespace reprise {
namespace {

void ReplacePart(const Replacement& by, std::size_t part, TimingGraph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (by.duration_part[i] == part) {
      graph.duration_ns[i] = by.duration_ns[i];
      if (!graph.transfer_ns.empty()) {
        graph.transfer_ns[i] = by.transfer_ns[i];
      }
    }
    if (by.delay_part[i] == part) {
      graph.delay_ns[i] = by.delay_ns[i];
    }
  }
}

// How far each part moves the end when parts are replaced in this order.
Result<std::vector<std::int64_t>> Moves(TimingGraph graph, const Replacement& by,
                                        std::int64_t before_ns,
                                        const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> moves_ns(by.parts, 0);
  for (const std::size_t part : order) {
    ReplacePart(by, part, graph);
    REPRISE_ASSIGN(const Schedule schedule, DryRun(graph));
    moves_ns[part] = schedule.makespan_ns - before_ns;
    before_ns = schedule.makespan_ns;
  }
  return moves_ns;
}

}  // namespace

TimingGraph Replace(const TimingGraph& graph, const Replacement& by) {
  TimingGraph out = graph;
  for (std::size_t part = 0; part < by.parts; ++part) {
    ReplacePart(by, part, out);
  }
  return out;
}

Result<Attribution> Attribute(const TimingGraph& graph, const Replacement& by) {
  REPRISE_ASSIGN(const Schedule before, DryRun(graph));
  std::vector<std::size_t> order(by.parts);
  std::iota(order.begin(), order.end(), std::size_t{0});
  REPRISE_ASSIGN(const auto forward, Moves(graph, by, before.makespan_ns, order));
  REPRISE_ASSIGN(const auto backward,
                 Moves(graph, by, before.makespan_ns, {order.rbegin(), order.rend()}));
  Attribution out{.before_ns = before.makespan_ns,
                  .after_ns = before.makespan_ns,
                  .part_ns = std::vector<std::int64_t>(by.parts, 0)};
  std::int64_t odd = 0;  // halves lost so far: what is rounded off one part, the next one gets
  for (std::size_t part = 0; part < by.parts; ++part) {
    const std::int64_t twice_ns = forward[part] + backward[part] + odd;
    out.part_ns[part] = twice_ns / 2;
    odd = twice_ns % 2;
    out.after_ns += forward[part];
  }
  return out;
}

}  // namespace reprise
