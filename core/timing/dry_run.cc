#include "core/timing/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/nanoseconds.h"
#include "core/timing/wiring.h"

namespace reprise {
namespace {

using Index = std::uint32_t;

constexpr std::int64_t kPendingNs = INT64_MIN;  // no start: it lies before all that can be

Status Check(const TimingGraph& graph) {
  const std::size_t n = graph.size();
  const auto fits = [n](std::size_t size) { return size == 0 || size == n; };
  if (graph.delay_ns.size() != n || graph.dep_offset.size() != n + 1 ||
      graph.dep_offset.back() != graph.deps.size() || !fits(graph.match.size()) ||
      graph.transfer_ns.size() != graph.match.size() || !fits(graph.need.size()) ||
      !fits(graph.root.size())) {
    return BadInput("timing graph: arrays differ in length");
  }
  for (Index i = 0; i < n; ++i) {
    if (graph.dep_offset[i] > graph.dep_offset[i + 1]) {
      return BadInput(fmt::format("timing graph: dependency offsets of node {} decrease", i));
    }
    for (const Index dep : graph.DepsOf(i)) {
      if (dep >= n) {
        return BadInput(fmt::format("timing graph: node {} depends on {}, beyond {}", i, dep, n));
      }
    }
    if (MatchOf(graph, i) >= static_cast<std::int64_t>(n)) {
      return BadInput(fmt::format("timing graph: match number of node {} is not dense", i));
    }
  }
  return {};
}

// What has not arrived yet of one match.
struct Missing {
  Index members = 0;
  Index roots = 0;
};

enum class OrderState : std::uint8_t { kPending, kStarted, kEnded };

// Kahn's algorithm with two events a node: its start, when all dependencies ended, and its end,
// which for a matched transfer also waits for the arrivals that it needs.
class Ordering {
 public:
  Ordering(const TimingGraph& graph, const Wiring& wiring)
      : graph_(graph), wiring_(wiring), n_(static_cast<Index>(graph.size())) {
    state_.assign(n_, OrderState::kPending);
    waiting_.resize(n_);
    missing_.resize(wiring.members.keys());
    for (Index i = 0; i < n_; ++i) {
      waiting_[i] = static_cast<Index>(graph.DepsOf(i).size());
      if (const std::int32_t m = MatchOf(graph, i); m >= 0) {
        ++missing_[m].members;
        missing_[m].roots += IsRoot(graph, i) ? 1 : 0;
      }
    }
  }

  Result<std::vector<Index>> Run() {
    events_.reserve(n_ + wiring_.members.values.size());
    for (Index i = 0; i < n_; ++i) {
      if (waiting_[i] == 0) {
        ready_.push_back(i);
      }
    }
    while (!ready_.empty()) {
      const Index i = ready_.back();
      ready_.pop_back();
      Start(i);
    }
    if (ended_ < n_) {
      return BadInput(DescribeCycle());
    }
    return std::move(events_);
  }

 private:
  void Start(Index i) {
    events_.push_back(i);
    state_[i] = OrderState::kStarted;
    const std::int32_t match = MatchOf(graph_, i);
    if (match < 0) {
      End(i);
      return;
    }
    Missing& missing = missing_[match];
    --missing.members;
    missing.roots -= IsRoot(graph_, i) ? 1 : 0;
    const bool completes = missing.members == 0 || (missing.roots == 0 && IsRoot(graph_, i));
    if (!completes) {
      EndIfArrived(i, missing);
      return;
    }
    for (const Index member : wiring_.members.Of(match)) {
      EndIfArrived(member, missing);
    }
  }

  void EndIfArrived(Index i, const Missing& missing) {
    const ArrivalNeed need = NeedOf(graph_, i);
    const bool waits = (need == ArrivalNeed::kAll && missing.members > 0) ||
                       (need == ArrivalNeed::kRoot && missing.roots > 0);
    if (state_[i] == OrderState::kStarted && !waits) {
      events_.push_back(i);
      End(i);
    }
  }

  void End(Index i) {
    state_[i] = OrderState::kEnded;
    ++ended_;
    for (const Index dependent : wiring_.dependents.Of(i)) {
      if (--waiting_[dependent] == 0) {
        ready_.push_back(dependent);
      }
    }
  }

  // Something that a node which never ended waits for, and that never ended (or started) either.
  [[nodiscard]] Index BlockerOf(Index i) const {
    if (state_[i] == OrderState::kPending) {
      for (const Index dep : graph_.DepsOf(i)) {
        if (state_[dep] != OrderState::kEnded) {
          return dep;
        }
      }
    }
    for (const Index member : wiring_.members.Of(graph_.match[i])) {
      if (state_[member] == OrderState::kPending &&
          (NeedOf(graph_, i) == ArrivalNeed::kAll || IsRoot(graph_, member))) {
        return member;
      }
    }
    return i;  // not reached: a node that waits for nothing has ended
  }

  [[nodiscard]] std::string NameOf(Index i) const {
    if (i >= graph_.names.size()) {
      return fmt::format("node {}", i);
    }
    return fmt::format("rank {} node {}", graph_.names[i].rank, graph_.names[i].id);
  }

  // "cycle: rank 0 node 4 waits for rank 0 node 2 waits for its transfer's member rank 1 node 7":
  // from any stuck node, blockers lead into a cycle.
  [[nodiscard]] std::string DescribeCycle() const {
    constexpr std::size_t kMaxNamed = 12;
    Index i = 0;
    while (state_[i] == OrderState::kEnded) {
      ++i;
    }
    std::vector<bool> seen(n_);
    while (!seen[i]) {
      seen[i] = true;
      i = BlockerOf(i);
    }
    std::string text = fmt::format("dependency cycle: {}", NameOf(i));
    std::size_t length = 0;
    Index at = i;
    do {
      const bool by_match = state_[at] == OrderState::kStarted;
      at = BlockerOf(at);
      if (++length <= kMaxNamed) {
        text +=
            fmt::format(" waits for {}{}", by_match ? "its transfer's member " : "", NameOf(at));
      }
    } while (at != i);
    if (length > kMaxNamed) {
      text += fmt::format(" … ({} nodes in all)", length);
    }
    return text +
           "; none of them can ever start: remove one of these dependencies from what was "
           "converted, and convert it again";
  }

  const TimingGraph& graph_;
  const Wiring& wiring_;
  Index n_;
  Index ended_ = 0;
  std::vector<OrderState> state_;
  std::vector<Index> waiting_;
  std::vector<Missing> missing_;
  std::vector<Index> ready_, events_;
};

// When the members of one match that have arrived did so, and when its roots did.
struct LastArrival {
  std::int64_t all_ns = INT64_MIN;
  std::int64_t roots_ns = INT64_MIN;
};

Status OutOfScale(const std::string& what) {
  return BadInput(what +
                  ": a factor, a number of the machine or a recorded time is out of scale; correct "
                  "it");
}

// The member whose arrival determined the end of a matched transfer; itself if unmatched.
Index LastNeededArrival(const TimingGraph& graph, const Wiring& wiring, const Schedule& schedule,
                        Index i) {
  Index last = i;
  if (MatchOf(graph, i) < 0 || NeedOf(graph, i) == ArrivalNeed::kOwn) {
    return last;
  }
  for (const Index member : wiring.members.Of(graph.match[i])) {
    if ((NeedOf(graph, i) == ArrivalNeed::kAll || IsRoot(graph, member)) &&
        schedule.start_ns[member] > schedule.start_ns[last]) {
      last = member;
    }
  }
  return last;
}

}  // namespace

Result<EventOrder> EventOrder::Find(const TimingGraph& graph) {
  REPRISE_TRY(Check(graph));
  const Wiring wiring = WiringOf(graph);
  EventOrder order(graph);
  order.matches_ = static_cast<std::int32_t>(wiring.members.keys());
  REPRISE_ASSIGN(order.events_, Ordering(graph, wiring).Run());
  return order;
}

Schedule EventOrder::Run(const NodeTimes& times) const {
  const TimingGraph& graph = *graph_;
  Schedule schedule;
  schedule.start_ns.assign(graph.size(), kPendingNs);
  schedule.end_ns.assign(graph.size(), 0);
  std::vector<LastArrival> arrivals(static_cast<std::size_t>(matches_));
  for (const Index i : events_) {
    std::int64_t& start_ns = schedule.start_ns[i];
    const std::int32_t match = MatchOf(graph, i);
    if (start_ns != kPendingNs) {  // a matched transfer's end
      const ArrivalNeed need = NeedOf(graph, i);
      const LastArrival& last = arrivals[match];
      schedule.end_ns[i] =
          times.transfer_ns[i] + (need == ArrivalNeed::kAll    ? last.all_ns
                                  : need == ArrivalNeed::kRoot ? std::max(start_ns, last.roots_ns)
                                                               : start_ns);
      continue;
    }
    const std::span<const Index> deps = graph.DepsOf(i);
    std::int64_t ready_ns = deps.empty() ? 0 : schedule.end_ns[deps.front()];
    for (const Index dep : deps) {
      ready_ns = std::max(ready_ns, schedule.end_ns[dep]);
    }
    start_ns = ready_ns + times.delay_ns[i];
    if (match < 0) {
      schedule.end_ns[i] = start_ns + times.duration_ns[i];
      continue;
    }
    LastArrival& last = arrivals[match];
    last.all_ns = std::max(last.all_ns, start_ns);
    last.roots_ns = IsRoot(graph, i) ? std::max(last.roots_ns, start_ns) : last.roots_ns;
  }
  if (graph.size() > 0) {
    schedule.makespan_ns = *std::max_element(schedule.end_ns.begin(), schedule.end_ns.end()) -
                           *std::min_element(schedule.start_ns.begin(), schedule.start_ns.end());
  }
  return schedule;
}

Status CheckTimes(const TimingGraph& graph) {
  double sum_ns = 0;
  for (const std::vector<std::int64_t>* times_ns :
       {&graph.duration_ns, &graph.delay_ns, &graph.transfer_ns}) {
    for (std::size_t i = 0; i < times_ns->size(); ++i) {
      const std::int64_t ns = (*times_ns)[i];
      if (ns > kLongestNs || ns < -kLongestNs) {
        const NodeName name = i < graph.names.size() ? graph.names[i] : NodeName{.id = i};
        return OutOfScale(fmt::format("rank {} node {} takes over 11 days", name.rank, name.id));
      }
      sum_ns += std::abs(static_cast<double>(ns));
    }
  }
  constexpr double kLargestSumNs = 4e18;  // of 9.2e18
  return sum_ns <= kLargestSumNs ? Status{} : OutOfScale("all nodes together take over 126 years");
}

Status CheckLength(const Schedule& schedule) {
  return schedule.makespan_ns >= 0 && schedule.makespan_ns <= kLongestNs
             ? Status{}
             : OutOfScale("the schedule lasts over 11 days");
}

Result<Schedule> DryRun(const TimingGraph& graph) {
  REPRISE_TRY(CheckTimes(graph));
  REPRISE_ASSIGN(const EventOrder order, EventOrder::Find(graph));
  Schedule schedule = order.Run({graph.duration_ns, graph.delay_ns, graph.transfer_ns});
  REPRISE_TRY(CheckLength(schedule));
  return schedule;
}

std::vector<Index> CriticalPath(const TimingGraph& graph, const Schedule& schedule) {
  std::vector<Index> path;
  if (graph.size() == 0 || !Check(graph) || schedule.end_ns.size() != graph.size()) {
    return path;
  }
  const Wiring wiring = WiringOf(graph);
  auto at = static_cast<Index>(std::max_element(schedule.end_ns.begin(), schedule.end_ns.end()) -
                               schedule.end_ns.begin());
  for (;;) {
    path.push_back(at);
    if (const Index last = LastNeededArrival(graph, wiring, schedule, at); last != at) {
      at = last;
      path.push_back(at);
    }
    const std::span<const Index> deps = graph.DepsOf(at);
    if (deps.empty()) {
      return path;
    }
    at = *std::max_element(deps.begin(), deps.end(), [&](Index a, Index b) {
      return schedule.end_ns[a] < schedule.end_ns[b];
    });
  }
}

}  // namespace reprise
