#include "timing/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace reprise {
namespace {

using Index = std::uint32_t;

// Who depends on whom, and who takes part in which match; CSR both.
struct Wiring {
  std::vector<Index> dependent_offset, dependents;
  std::vector<Index> member_offset, members;

  [[nodiscard]] std::span<const Index> DependentsOf(Index i) const {
    return {dependents.data() + dependent_offset[i], dependents.data() + dependent_offset[i + 1]};
  }
  [[nodiscard]] std::span<const Index> MembersOf(std::int32_t match) const {
    return {members.data() + member_offset[match], members.data() + member_offset[match + 1]};
  }
};

std::span<const Index> DepsOf(const TimingGraph& graph, Index i) {
  return {graph.deps.data() + graph.dep_offset[i], graph.deps.data() + graph.dep_offset[i + 1]};
}
std::int32_t MatchOf(const TimingGraph& graph, Index i) {
  return graph.match.empty() ? -1 : graph.match[i];
}
ArrivalNeed NeedOf(const TimingGraph& graph, Index i) {
  return graph.need.empty() ? ArrivalNeed::kAll : graph.need[i];
}
bool IsRoot(const TimingGraph& graph, Index i) { return !graph.root.empty() && graph.root[i] != 0; }

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
    for (const Index dep : DepsOf(graph, i)) {
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

Wiring Connect(const TimingGraph& graph) {
  const auto n = static_cast<Index>(graph.size());
  Wiring wiring;
  wiring.dependent_offset.assign(n + 1, 0);
  for (const Index dep : graph.deps) {
    ++wiring.dependent_offset[dep + 1];
  }
  std::int32_t matches = 0;
  for (const std::int32_t match : graph.match) {
    matches = std::max(matches, match + 1);
  }
  wiring.member_offset.assign(matches + 1, 0);
  for (Index i = 0; i < n; ++i) {
    wiring.dependent_offset[i + 1] += wiring.dependent_offset[i];
    if (MatchOf(graph, i) >= 0) {
      ++wiring.member_offset[graph.match[i] + 1];
    }
  }
  for (std::int32_t m = 0; m < matches; ++m) {
    wiring.member_offset[m + 1] += wiring.member_offset[m];
  }
  wiring.dependents.resize(graph.deps.size());
  wiring.members.resize(wiring.member_offset.back());
  std::vector<Index> next_dependent(wiring.dependent_offset);
  std::vector<Index> next_member(wiring.member_offset);
  for (Index i = 0; i < n; ++i) {
    for (const Index dep : DepsOf(graph, i)) {
      wiring.dependents[next_dependent[dep]++] = i;
    }
    if (MatchOf(graph, i) >= 0) {
      wiring.members[next_member[graph.match[i]]++] = i;
    }
  }
  return wiring;
}

// What has arrived of one match.
struct Arrivals {
  Index missing = 0;
  Index missing_roots = 0;
  std::int64_t last_ns = 0;
  std::int64_t root_ns = 0;
  bool any = false, any_root = false;
};

enum class Phase : std::uint8_t { kPending, kStarted, kEnded };

// Kahn's algorithm with two events a node: its start, when all dependencies ended, and its end,
// which for a matched transfer also waits for the arrivals that it needs.
class Simulation {
 public:
  Simulation(const TimingGraph& graph, const Wiring& wiring)
      : graph_(graph), wiring_(wiring), n_(static_cast<Index>(graph.size())) {
    phase_.assign(n_, Phase::kPending);
    waiting_.resize(n_);
    schedule_.start_ns.assign(n_, 0);
    schedule_.end_ns.assign(n_, 0);
    arrivals_.resize(wiring.member_offset.size() - 1);
    for (Index i = 0; i < n_; ++i) {
      waiting_[i] = static_cast<Index>(DepsOf(graph, i).size());
      if (const std::int32_t m = MatchOf(graph, i); m >= 0) {
        ++arrivals_[m].missing;
        arrivals_[m].missing_roots += IsRoot(graph, i) ? 1 : 0;
      }
    }
  }

  Result<Schedule> Run() {
    std::vector<Index> ready;
    for (Index i = 0; i < n_; ++i) {
      if (waiting_[i] == 0) {
        ready.push_back(i);
      }
    }
    while (!ready.empty()) {
      const Index i = ready.back();
      ready.pop_back();
      Start(i, ready);
    }
    if (ended_ < n_) {
      return BadInput(DescribeCycle());
    }
    if (n_ > 0) {
      schedule_.makespan_ns =
          *std::max_element(schedule_.end_ns.begin(), schedule_.end_ns.end()) -
          *std::min_element(schedule_.start_ns.begin(), schedule_.start_ns.end());
    }
    return std::move(schedule_);
  }

 private:
  void Start(Index i, std::vector<Index>& ready) {
    // Until here start_ns held the latest dependency end.
    schedule_.start_ns[i] += graph_.delay_ns[i];
    phase_[i] = Phase::kStarted;
    const std::int32_t match = MatchOf(graph_, i);
    if (match < 0) {
      End(i, schedule_.start_ns[i] + graph_.duration_ns[i], ready);
      return;
    }
    Arrivals& arrivals = arrivals_[match];
    Arrive(arrivals, i);
    const bool completes =
        arrivals.missing == 0 || (arrivals.missing_roots == 0 && IsRoot(graph_, i));
    if (!completes) {
      EndIfArrived(i, arrivals, ready);
      return;
    }
    for (const Index member : wiring_.MembersOf(match)) {
      EndIfArrived(member, arrivals, ready);
    }
  }

  void Arrive(Arrivals& arrivals, Index i) {
    const std::int64_t start_ns = schedule_.start_ns[i];
    arrivals.last_ns = arrivals.any ? std::max(arrivals.last_ns, start_ns) : start_ns;
    arrivals.any = true;
    --arrivals.missing;
    if (IsRoot(graph_, i)) {
      arrivals.root_ns = arrivals.any_root ? std::max(arrivals.root_ns, start_ns) : start_ns;
      arrivals.any_root = true;
      --arrivals.missing_roots;
    }
  }

  void EndIfArrived(Index i, const Arrivals& arrivals, std::vector<Index>& ready) {
    if (phase_[i] != Phase::kStarted) {
      return;
    }
    std::int64_t arrival_ns = schedule_.start_ns[i];
    switch (NeedOf(graph_, i)) {
      case ArrivalNeed::kAll:
        if (arrivals.missing > 0) {
          return;
        }
        arrival_ns = arrivals.last_ns;
        break;
      case ArrivalNeed::kRoot:
        if (arrivals.missing_roots > 0) {
          return;
        }
        arrival_ns = arrivals.any_root ? std::max(arrival_ns, arrivals.root_ns) : arrival_ns;
        break;
      case ArrivalNeed::kOwn:
        break;
    }
    End(i, arrival_ns + graph_.transfer_ns[i], ready);
  }

  void End(Index i, std::int64_t end_ns, std::vector<Index>& ready) {
    schedule_.end_ns[i] = end_ns;
    phase_[i] = Phase::kEnded;
    ++ended_;
    for (const Index dependent : wiring_.DependentsOf(i)) {
      std::int64_t& latest_ns = schedule_.start_ns[dependent];
      const bool first = waiting_[dependent] == DepsOf(graph_, dependent).size();
      latest_ns = first ? end_ns : std::max(latest_ns, end_ns);
      if (--waiting_[dependent] == 0) {
        ready.push_back(dependent);
      }
    }
  }

  // Something that a node which never ended waits for, and that never ended (or started) either.
  [[nodiscard]] Index BlockerOf(Index i) const {
    if (phase_[i] == Phase::kPending) {
      for (const Index dep : DepsOf(graph_, i)) {
        if (phase_[dep] != Phase::kEnded) {
          return dep;
        }
      }
    }
    for (const Index member : wiring_.MembersOf(graph_.match[i])) {
      if (phase_[member] == Phase::kPending &&
          (NeedOf(graph_, i) == ArrivalNeed::kAll || IsRoot(graph_, member))) {
        return member;
      }
    }
    return i;  // not reached: a node that waits for nothing has ended
  }

  // "cycle: node 4 waits for 2 waits for transfer 7 (matched with 4)": from any stuck node,
  // blockers lead into a cycle.
  [[nodiscard]] std::string DescribeCycle() const {
    constexpr std::size_t kMaxNamed = 12;
    Index i = 0;
    while (phase_[i] == Phase::kEnded) {
      ++i;
    }
    std::vector<bool> seen(n_);
    while (!seen[i]) {
      seen[i] = true;
      i = BlockerOf(i);
    }
    std::string text = fmt::format("dependency cycle: node {}", i);
    std::size_t length = 0;
    Index at = i;
    do {
      const bool by_match = phase_[at] == Phase::kStarted;
      at = BlockerOf(at);
      if (++length <= kMaxNamed) {
        text += fmt::format(" waits for {}node {}", by_match ? "its transfer's member " : "", at);
      }
    } while (at != i);
    if (length > kMaxNamed) {
      text += fmt::format(" … ({} nodes in all)", length);
    }
    return text;
  }

  const TimingGraph& graph_;
  const Wiring& wiring_;
  Index n_;
  Index ended_ = 0;
  std::vector<Phase> phase_;
  std::vector<Index> waiting_;
  std::vector<Arrivals> arrivals_;
  Schedule schedule_;
};

// The member whose arrival determined the end of a matched transfer; itself if unmatched.
Index LastNeededArrival(const TimingGraph& graph, const Wiring& wiring, const Schedule& schedule,
                        Index i) {
  Index last = i;
  if (MatchOf(graph, i) < 0 || NeedOf(graph, i) == ArrivalNeed::kOwn) {
    return last;
  }
  for (const Index member : wiring.MembersOf(graph.match[i])) {
    if ((NeedOf(graph, i) == ArrivalNeed::kAll || IsRoot(graph, member)) &&
        schedule.start_ns[member] > schedule.start_ns[last]) {
      last = member;
    }
  }
  return last;
}

}  // namespace

Result<Schedule> DryRun(const TimingGraph& graph) {
  REPRISE_TRY(Check(graph));
  const Wiring wiring = Connect(graph);
  return Simulation(graph, wiring).Run();
}

std::vector<Index> CriticalPath(const TimingGraph& graph, const Schedule& schedule) {
  std::vector<Index> path;
  if (graph.size() == 0 || !Check(graph) || schedule.end_ns.size() != graph.size()) {
    return path;
  }
  const Wiring wiring = Connect(graph);
  auto at = static_cast<Index>(std::max_element(schedule.end_ns.begin(), schedule.end_ns.end()) -
                               schedule.end_ns.begin());
  for (;;) {
    path.push_back(at);
    if (const Index last = LastNeededArrival(graph, wiring, schedule, at); last != at) {
      at = last;
      path.push_back(at);
    }
    const std::span<const Index> deps = DepsOf(graph, at);
    if (deps.empty()) {
      return path;
    }
    at = *std::max_element(deps.begin(), deps.end(), [&](Index a, Index b) {
      return schedule.end_ns[a] < schedule.end_ns[b];
    });
  }
}

}  // namespace reprise
