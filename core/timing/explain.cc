#include "core/timing/explain.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <unordered_map>

namespace reprise {
namespace {

using Index = std::uint32_t;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
constexpr Index kNone = std::numeric_limits<Index>::max();

struct Latest {
  std::int64_t end_ns = kNever;
  Index node = kNone;
};

// Among dependencies that end together, one on another actor wins: it is what was waited for.
Latest LatestDependency(const TimingGraph& graph, const Recording& recording, Index i) {
  Latest latest;
  for (const Index dep : graph.DepsOf(i)) {
    const std::int64_t end_ns = recording.end_ns[dep];
    if (end_ns > latest.end_ns ||
        (end_ns == latest.end_ns && recording.actor[dep] != recording.actor[i])) {
      latest = {end_ns, dep};
    }
  }
  return latest;
}

// A rank's nodes by end, to ask what ended in an interval.
class Ends {
 public:
  explicit Ends(const Recording& recording) : recording_(&recording) {}
  void Add(Index i) { by_end_.push_back(i); }
  void Sort() {
    std::sort(by_end_.begin(), by_end_.end(),
              [this](Index a, Index b) { return recording_->end_ns[a] < recording_->end_ns[b]; });
  }
  // The last node that ended in (after, until], except `self` and nodes that started no earlier
  // than `until` (of zero length: no node waits for those).
  [[nodiscard]] Index LastIn(std::int64_t after_ns, std::int64_t until_ns, Index self) const {
    auto at = std::upper_bound(
        by_end_.begin(), by_end_.end(), until_ns,
        [this](std::int64_t until, Index i) { return until < recording_->end_ns[i]; });
    while (at != by_end_.begin()) {
      --at;
      if (recording_->end_ns[*at] <= after_ns) {
        return kNone;
      }
      if (*at != self && recording_->start_ns[*at] < until_ns) {
        return *at;
      }
    }
    return kNone;
  }

 private:
  const Recording* recording_;
  std::vector<Index> by_end_;
};

class Explainer {
 public:
  Explainer(const TimingGraph& graph, const Recording& recording)
      : graph_(graph), recording_(recording) {
    std::int32_t ranks = 0;
    for (const std::int32_t rank : recording.rank) {
      ranks = std::max(ranks, rank + 1);
    }
    explanation_.ranks.resize(ranks);
    ends_ = std::vector<Ends>(ranks, Ends(recording));
    host_ends_ = ends_;
    origin_ns_.assign(ranks, std::numeric_limits<std::int64_t>::max());
    for (Index i = 0; i < graph.size(); ++i) {
      const std::int32_t rank = recording.rank[i];
      ends_[rank].Add(i);
      if (recording.kind[i] != ActorKind::kStream) {
        host_ends_[rank].Add(i);
      }
      origin_ns_[rank] = std::min(origin_ns_[rank], recording.start_ns[i]);
    }
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      ends_[rank].Sort();
      host_ends_[rank].Sort();
    }
  }

  Explanation Run() {
    FindLaunchLatencies();
    FindArrivals();
    FindBusySince();
    for (Index i = 0; i < graph_.size(); ++i) {
      CheckEdges(i);
      if (recording_.kind[i] != ActorKind::kTransfer) {
        ExplainOpenTime(i);
      }
    }
    std::stable_sort(
        explanation_.unexplained.begin(), explanation_.unexplained.end(),
        [](const UnexplainedDelay& a, const UnexplainedDelay& b) { return a.ns > b.ns; });
    return std::move(explanation_);
  }

 private:
  RankExplanation& RankOf(Index i) { return explanation_.ranks[recording_.rank[i]]; }
  [[nodiscard]] std::int64_t UncertaintyOf(Index i) const {
    return recording_.clock_uncertainty_ns.empty()
               ? 0
               : recording_.clock_uncertainty_ns[recording_.rank[i]];
  }

  [[nodiscard]] bool LaunchCameLast(Index i, const Latest& latest) const {
    return recording_.kind[i] == ActorKind::kStream && latest.node != kNone &&
           recording_.kind[latest.node] == ActorKind::kThread;
  }

  void FindLaunchLatencies() {
    std::vector<std::vector<std::int64_t>> latencies(explanation_.ranks.size());
    for (Index i = 0; i < graph_.size(); ++i) {
      const Latest latest = LatestDependency(graph_, recording_, i);
      if (LaunchCameLast(i, latest)) {
        latencies[recording_.rank[i]].push_back(recording_.start_ns[i] - latest.end_ns);
      }
    }
    for (std::size_t rank = 0; rank < latencies.size(); ++rank) {
      std::vector<std::int64_t>& all = latencies[rank];
      if (!all.empty()) {
        const auto at = static_cast<std::ptrdiff_t>((all.size() - 1) * 95 / 100);
        std::nth_element(all.begin(), all.begin() + at, all.end());
        explanation_.ranks[rank].launch_latency_ns = std::max<std::int64_t>(0, all[at]);
      }
    }
  }

  // The last member to arrive at each match, and the last root.
  void FindArrivals() {
    const auto later = [this](Index& last, Index i) {
      if (last == kNone || recording_.start_ns[i] > recording_.start_ns[last]) {
        last = i;
      }
    };
    for (Index i = 0; i < graph_.match.size(); ++i) {
      if (const std::int32_t match = graph_.match[i]; match >= 0) {
        if (static_cast<std::size_t>(match) >= last_arrival_.size()) {
          last_arrival_.resize(match + 1, kNone);
          last_root_.resize(match + 1, kNone);
        }
        later(last_arrival_[match], i);
        if (!graph_.root.empty() && graph_.root[i] != 0) {
          later(last_root_[match], i);
        }
      }
    }
  }

  // A node that starts while others of its stream run: since when the first of them does.
  void FindBusySince() {
    std::vector<Index> by_start;
    for (Index i = 0; i < graph_.size(); ++i) {
      if (recording_.kind[i] == ActorKind::kStream) {
        by_start.push_back(i);
      }
    }
    std::stable_sort(by_start.begin(), by_start.end(), [this](Index a, Index b) {
      return recording_.start_ns[a] < recording_.start_ns[b];
    });
    std::unordered_map<std::int32_t, std::deque<Index>> running;  // by actor
    for (const Index i : by_start) {
      std::deque<Index>& before = running[recording_.actor[i]];
      while (!before.empty() && recording_.end_ns[before.front()] <= recording_.start_ns[i]) {
        before.pop_front();
      }
      if (!before.empty()) {
        busy_since_ns_[i] = recording_.start_ns[before.front()];
      }
      before.push_back(i);
    }
  }

  void Violation(Index from, Index to, std::int64_t by_ns) {
    if (recording_.rank[from] != recording_.rank[to] &&
        by_ns <= UncertaintyOf(from) + UncertaintyOf(to)) {
      ++RankOf(to).clock_errors;
      return;
    }
    ++RankOf(to).violated_edges;
    explanation_.violated.push_back({from, to, by_ns});
  }

  void CheckEdges(Index i) {
    for (const Index dep : graph_.DepsOf(i)) {
      if (recording_.end_ns[dep] > recording_.start_ns[i]) {
        Violation(dep, i, recording_.end_ns[dep] - recording_.start_ns[i]);
      }
    }
    if (recording_.end_ns[i] < recording_.start_ns[i]) {
      Violation(i, i, recording_.start_ns[i] - recording_.end_ns[i]);
    }
    if (graph_.match.empty() || graph_.match[i] < 0) {
      return;
    }
    const ArrivalNeed need = graph_.need.empty() ? ArrivalNeed::kAll : graph_.need[i];
    const std::vector<Index>& last = need == ArrivalNeed::kRoot ? last_root_ : last_arrival_;
    if (const Index member = last[graph_.match[i]];
        need != ArrivalNeed::kOwn && member != kNone && member != i &&
        recording_.start_ns[member] > recording_.end_ns[i]) {
      Violation(member, i, recording_.start_ns[member] - recording_.end_ns[i]);
    }
  }

  // How much of a delay the edges owe no explanation for.
  std::int64_t ExemptDelay(Index i) {
    return recording_.kind[i] == ActorKind::kStream ? RankOf(i).launch_latency_ns : 0;
  }

  // Whether i's latest dependency is another actor's node, or a wait of no length for one: what the
  // wait took after that is then recorded as i's delay.
  [[nodiscard]] bool Woken(Index i, Index latest) const {
    if (latest == kNone) {
      return false;
    }
    if (recording_.actor[latest] != recording_.actor[i]) {
      return true;
    }
    return recording_.is_wait[latest] != 0 &&
           recording_.start_ns[latest] == recording_.end_ns[latest] &&
           Woken(latest, LatestDependency(graph_, recording_, latest).node);
  }

  void ExplainOpenTime(Index i) {
    const Latest latest = LatestDependency(graph_, recording_, i);
    if (latest.node == kNone && !recording_.launched_before.empty() &&
        recording_.launched_before[i] != 0) {
      return;
    }
    const std::int64_t after_ns =
        latest.node == kNone ? origin_ns_[recording_.rank[i]] : latest.end_ns;
    const std::int64_t start_ns = recording_.start_ns[i];
    const auto busy = busy_since_ns_.find(i);
    const std::int64_t until_ns = busy == busy_since_ns_.end() ? start_ns : busy->second;
    const bool woken = Woken(i, latest.node);
    const std::int64_t delay_ns = start_ns - after_ns;
    const bool on_thread = recording_.kind[i] == ActorKind::kThread;
    const std::vector<Ends>& ends = on_thread ? host_ends_ : ends_;
    if (!Unexplained(i, after_ns, until_ns, ExemptDelay(i), ends) && woken && delay_ns > 0 &&
        !LaunchCameLast(i, latest)) {
      RankOf(i).wakeup_ns += delay_ns;
    }
    if (recording_.is_wait[i] != 0) {
      const std::int64_t left_from_ns = std::max(after_ns, start_ns);
      if (!Unexplained(i, left_from_ns, recording_.end_ns[i], 0, ends_) && woken) {
        RankOf(i).wakeup_ns += std::max<std::int64_t>(0, recording_.end_ns[i] - left_from_ns);
      }
    }
  }

  bool Unexplained(Index i, std::int64_t after_ns, std::int64_t until_ns, std::int64_t exempt_ns,
                   const std::vector<Ends>& ends) {
    const std::int64_t open_ns = until_ns - after_ns - exempt_ns;
    if (open_ns <= 0) {
      return false;
    }
    const Index ended = ends[recording_.rank[i]].LastIn(after_ns, until_ns, i);
    if (ended == kNone) {
      return false;
    }
    RankOf(i).unexplained_ns += open_ns;
    explanation_.unexplained.push_back({i, ended, open_ns});
    return true;
  }

  const TimingGraph& graph_;
  const Recording& recording_;
  std::vector<Ends> ends_;
  std::vector<Ends> host_ends_;  // without streams
  std::vector<std::int64_t> origin_ns_;
  std::vector<Index> last_arrival_, last_root_;
  std::unordered_map<Index, std::int64_t> busy_since_ns_;
  Explanation explanation_;
};

}  // namespace

Result<Explanation> Explain(const TimingGraph& graph, const Recording& recording) {
  const std::size_t n = graph.size();
  if (graph.dep_offset.size() != n + 1 || recording.start_ns.size() != n ||
      recording.end_ns.size() != n || recording.rank.size() != n || recording.actor.size() != n ||
      recording.kind.size() != n || recording.is_wait.size() != n ||
      (!recording.launched_before.empty() && recording.launched_before.size() != n) ||
      (!graph.match.empty() && graph.match.size() != n)) {
    return BadInput("timing: the recording does not fit the graph");
  }
  for (const std::int32_t rank : recording.rank) {
    if (rank < 0) {
      return BadInput("timing: negative rank in the recording");
    }
  }
  return Explainer(graph, recording).Run();
}

}  // namespace reprise
