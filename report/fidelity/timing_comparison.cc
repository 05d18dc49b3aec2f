#include "report/fidelity/timing_comparison.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <span>

#include "core/timing/attribution.h"

namespace reprise {
namespace {

using Index = std::uint32_t;
using Kind = DifferenceRow::Kind;

// Parts of core/timing/attribution: one for each class, then these.
constexpr std::size_t kHostPart = kOpClassCount;
constexpr std::size_t kWakeUpPart = kOpClassCount + 1;
constexpr std::size_t kOrderPart = kOpClassCount + 2;
constexpr std::size_t kParts = kOpClassCount + 3;

std::size_t DurationPart(const RunTiming& timing, Index i) {
  const NodeInfo* node = timing.nodes[i];
  if (timing.transfers[i] != nullptr) {
    return static_cast<std::size_t>(OpClass::kComm);
  }
  return node != nullptr && node->counts_for_coverage ? static_cast<std::size_t>(node->op_class)
                                                      : kHostPart;
}

// Whose end the replayed start came after; where that was on the node's own actor, the host (or the
// stream) took the time in between.
std::size_t DelayPart(const RunTiming& timing, Index i, std::int64_t delay_ns) {
  const auto deps = timing.recorded.DepsOf(i);
  if (deps.empty()) {
    return kHostPart;
  }
  if (delay_ns < 0) {
    return kOrderPart;
  }
  const Index latest =
      *std::ranges::max_element(deps, {}, [&](Index i) { return timing.replayed_end_ns[i]; });
  return timing.actor[latest] == timing.actor[i] ? kHostPart : kWakeUpPart;
}

// When what a transfer's member needs had arrived, in the replay.
std::vector<std::int64_t> Arrivals(const RunTiming& timing) {
  const TimingGraph& graph = timing.recorded;
  // By match: of all, of roots.
  std::vector<std::pair<std::int64_t, std::int64_t>> last(graph.size(), {INT64_MIN, INT64_MIN});
  for (Index i = 0; i < graph.size(); ++i) {
    if (graph.match[i] >= 0) {
      auto& [all_ns, root_ns] = last[static_cast<std::size_t>(graph.match[i])];
      all_ns = std::max(all_ns, timing.replayed_start_ns[i]);
      root_ns = graph.root[i] != 0 ? std::max(root_ns, timing.replayed_start_ns[i]) : root_ns;
    }
  }
  std::vector<std::int64_t> arrival_ns(timing.replayed_start_ns);
  for (Index i = 0; i < graph.size(); ++i) {
    if (graph.match[i] >= 0 && graph.need[i] != ArrivalNeed::kOwn) {
      const auto& [all_ns, root_ns] = last[static_cast<std::size_t>(graph.match[i])];
      arrival_ns[i] =
          std::max(arrival_ns[i], graph.need[i] == ArrivalNeed::kAll ? all_ns : root_ns);
    }
  }
  return arrival_ns;
}

Replacement Replayed(const RunTiming& timing) {
  const std::size_t n = timing.recorded.size();
  Replacement by;
  by.parts = kParts;
  for (auto* times_ns : {&by.duration_ns, &by.delay_ns, &by.transfer_ns}) {
    times_ns->reserve(n);
  }
  for (auto* parts : {&by.duration_part, &by.delay_part}) {
    parts->reserve(n);
  }
  const std::vector<std::int64_t> arrival_ns = Arrivals(timing);
  for (Index i = 0; i < n; ++i) {
    const std::int64_t start_ns = timing.replayed_start_ns[i];
    std::int64_t latest_ns = timing.recorded.DepsOf(i).empty() ? 0 : INT64_MIN;
    for (const Index dep : timing.recorded.DepsOf(i)) {
      latest_ns = std::max(latest_ns, timing.replayed_end_ns[dep]);
    }
    by.duration_ns.push_back(timing.replayed_end_ns[i] - start_ns);
    by.transfer_ns.push_back(timing.replayed_end_ns[i] - arrival_ns[i]);
    by.delay_ns.push_back(start_ns - latest_ns);
    by.duration_part.push_back(static_cast<std::uint8_t>(DurationPart(timing, i)));
    by.delay_part.push_back(static_cast<std::uint8_t>(DelayPart(timing, i, by.delay_ns.back())));
  }
  return by;
}

DifferenceRow RowOf(std::size_t part, std::int64_t ns) {
  switch (part) {
    case kHostPart:
      return {Kind::kHostDelay, "host_delay", ns};
    case kWakeUpPart:
      return {Kind::kWakeUp, "wake_up", ns};
    case kOrderPart:
      return {Kind::kOrder, "order", ns};
    case static_cast<std::size_t>(OpClass::kComm):
      return {Kind::kTransport, "transport", ns};
    default:
      return {Kind::kClass, std::string(Name(static_cast<OpClass>(part))), ns};
  }
}

// Which nodes and delays the latest end follows from.
std::map<std::string, std::int64_t> PathTimes(const RunTiming& timing, const Schedule& schedule) {
  const TimingGraph& graph = timing.recorded;
  std::map<std::string, std::int64_t> out;
  const std::vector<Index> path = CriticalPath(graph, schedule);  // last first
  std::int64_t until_ns = schedule.end_ns[path.front()];
  for (std::size_t k = 0; k < path.size(); ++k) {
    const Index i = path[k];
    const NodeInfo* node = timing.nodes[i];
    // A transfer begins on the path when its last member arrives; that member comes next.
    const bool arrives_later =
        k + 1 < path.size() && graph.match[i] >= 0 && graph.match[path[k + 1]] == graph.match[i];
    const std::int64_t start_ns =
        std::min(schedule.start_ns[arrives_later ? path[k + 1] : i], until_ns);
    const std::int64_t end_ns = std::min(schedule.end_ns[i], until_ns);
    out["delay"] += until_ns - end_ns;
    if (node != nullptr) {
      const bool comm = timing.transfers[i] != nullptr;
      out[comm                          ? "comm"
          : node->counts_for_coverage   ? std::string(Name(node->op_class))
          : node->kind == OpKind::kWait ? "wait"
                                        : "host"] += end_ns - start_ns;
    }
    until_ns = start_ns;
  }
  return out;
}

Difference ExplainDifference(const RunTiming& timing, const Attribution& attribution) {
  Difference out{.iteration = timing.iteration,
                 .recorded_ns = timing.recorded_pass_ns,
                 .replayed_ns = timing.replayed_pass_ns,
                 .parts = {}};
  for (std::size_t part = 0; part < kParts; ++part) {
    if (attribution.part_ns[part] != 0) {
      out.parts.push_back(RowOf(part, attribution.part_ns[part]));
    }
  }
  const std::int64_t outside_ns = (timing.replayed_pass_ns - attribution.after_ns) -
                                  (timing.recorded_pass_ns - attribution.before_ns);
  out.parts.push_back({Kind::kOutside, "outside", outside_ns});
  std::ranges::stable_sort(out.parts, std::greater{},
                           [](const DifferenceRow& row) { return std::abs(row.ns); });
  return out;
}

std::vector<PathRow> ComparePaths(const RunTiming& timing, const Schedule& recorded,
                                  const Schedule& replayed) {
  std::map<std::string, PathRow> rows;
  for (const auto& [name, ns] : PathTimes(timing, recorded)) {
    rows[name].recorded_ns = ns;
  }
  for (const auto& [name, ns] : PathTimes(timing, replayed)) {
    rows[name].replayed_ns = ns;
  }
  std::vector<PathRow> out;
  for (auto& [name, row] : rows) {
    row.name = name;
    if (row.recorded_ns != 0 || row.replayed_ns != 0) {
      out.push_back(row);
    }
  }
  std::ranges::stable_sort(out, std::greater{}, &PathRow::recorded_ns);
  return out;
}

// A schedule for each class: the edges of all ranks, without the class's own times.
std::vector<GainRow> FindGains(const RunTiming& timing, const EventOrder& order,
                               const Replacement& by, std::int64_t makespan_ns) {
  constexpr std::size_t kMostClasses = 10;
  const TimingGraph& graph = order.graph();
  std::array<std::int64_t, kOpClassCount> time_ns{};
  // Of a transfer whose other members are not in the run, what is not waiting for them.
  const auto own_ns = [&](Index i) {
    if (graph.match[i] >= 0) {
      return by.transfer_ns[i];
    }
    const CollectiveInfo* const transfer = timing.transfers[i];
    return transfer != nullptr && transfer->transfer_ns >= 0
               ? std::min(by.duration_ns[i], transfer->transfer_ns)
               : by.duration_ns[i];
  };
  for (Index i = 0; i < graph.size(); ++i) {
    if (by.duration_part[i] < kOpClassCount) {
      time_ns[by.duration_part[i]] += std::max<std::int64_t>(own_ns(i), 0);
    }
  }
  std::vector<GainRow> rows;
  std::vector<std::size_t> classes(kOpClassCount);
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  std::ranges::stable_sort(classes, std::greater{}, [&](std::size_t c) { return time_ns[c]; });
  for (const std::size_t part : std::span(classes).first(kMostClasses)) {
    if (time_ns[part] == 0) {
      break;
    }
    std::vector<std::int64_t> duration_ns = by.duration_ns;
    std::vector<std::int64_t> transfer_ns = by.transfer_ns;
    for (Index i = 0; i < graph.size(); ++i) {
      if (by.duration_part[i] == part) {
        duration_ns[i] -= std::max<std::int64_t>(own_ns(i), 0);
        transfer_ns[i] = std::min<std::int64_t>(transfer_ns[i], 0);
      }
    }
    const Schedule without = order.Run({duration_ns, by.delay_ns, transfer_ns});
    rows.push_back({std::string(Name(static_cast<OpClass>(part))), time_ns[part],
                    makespan_ns - without.makespan_ns});
  }
  std::ranges::stable_sort(rows, std::greater{}, &GainRow::gain_ns);
  return rows;
}

}  // namespace

Result<TimingComparison> CompareTimes(const RunTiming& timing) {
  const TimingGraph& graph = timing.recorded;
  REPRISE_ASSIGN(const EventOrder order, EventOrder::Find(graph));
  const Replacement by = Replayed(timing);
  TimingComparison out;
  out.recorded = order.Run({graph.duration_ns, graph.delay_ns, graph.transfer_ns});
  out.difference = ExplainDifference(timing, Attribute(order, by));
  const Schedule replayed = order.Run({by.duration_ns, by.delay_ns, by.transfer_ns});
  out.critical_path = ComparePaths(timing, out.recorded, replayed);
  out.gains = FindGains(timing, order, by, replayed.makespan_ns);
  return out;
}

Result<std::vector<GainRow>> GainsOf(const RunTiming& timing) {
  REPRISE_ASSIGN(const EventOrder order, EventOrder::Find(timing.recorded));
  const Replacement by = Replayed(timing);
  return FindGains(timing, order, by,
                   order.Run({by.duration_ns, by.delay_ns, by.transfer_ns}).makespan_ns);
}

}  // namespace reprise
