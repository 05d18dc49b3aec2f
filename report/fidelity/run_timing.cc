#include "report/fidelity/run_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/text_in.h"
#include "core/timing/wiring.h"
#include "report/nodes/step_times.h"

namespace reprise {
namespace {

using Index = std::uint32_t;

// Where each rank's recorded and replayed times begin, on one axis.
struct RankAxis {
  std::int64_t recorded_shift_ns = 0;  // added to recorded times
  std::int64_t replayed_shift_ns = 0;  // added to replayed times
  std::int64_t recorded_begin_ns = 0;  // its first step, on the axis
  std::int64_t replayed_begin_ns = 0;
};

// Pass times by iteration, of those that all ranks finished.
std::map<std::int32_t, std::int64_t> PassTimes(std::span<const MeasuredRank> ranks) {
  std::map<std::int32_t, std::pair<std::size_t, std::int64_t>> longest;
  for (const MeasuredRank& rank : ranks) {
    std::map<std::int32_t, std::int64_t> of_rank;
    for (const StepRecord& step : rank.steps()) {
      of_rank[step.iteration] += step.duration_ns;
    }
    for (const auto& [iteration, pass_ns] : of_rank) {
      auto& [count, most_ns] = longest[iteration];
      ++count;
      most_ns = std::max(most_ns, pass_ns);
    }
  }
  std::map<std::int32_t, std::int64_t> out;
  for (const auto& [iteration, one] : longest) {
    if (one.first == ranks.size()) {
      out[iteration] = one.second;
    }
  }
  return out;
}

class Builder {
 public:
  Builder(std::span<const MeasuredRank> ranks, const TransferMatches& matches,
          const RunManifest& manifest, const MedianPass& pass)
      : ranks_(ranks), matches_(matches), manifest_(manifest) {
    timing_.iteration = pass.iteration;
    timing_.replayed_pass_ns = pass.pass_ns;
  }

  Result<RunTiming> Build() {
    REPRISE_TRY(PlaceRanks());
    REPRISE_TRY(AddNodes());
    AddEdges();
    AddTransfers();
    REPRISE_TRY(Order());
    PlaceReplayed();
    SqueezeHosts();
    return std::move(timing_);
  }

 private:
  Status PlaceRanks() {
    std::set<std::string> hosts;
    bool related = true;
    for (const MeasuredRank& rank : ranks_) {
      hosts.insert(rank.data().host);
      related = related && rank.data().clock_uncertainty_ns.has_value();
    }
    if (hosts.size() > 1 && !related) {
      return BadInput("its hosts' clocks are not related");
    }
    std::int64_t recorded_first_ns = INT64_MAX;
    std::int64_t replayed_first_ns = INT64_MAX;
    for (const MeasuredRank& rank : ranks_) {
      RankAxis axis;
      axis.recorded_shift_ns = rank.data().facts.trace_base_ns.value_or(0);
      axis.recorded_begin_ns = axis.recorded_shift_ns + rank.data().facts.first_step_ns.value_or(0);
      axis.replayed_begin_ns = BeginOf(rank);
      recorded_first_ns = std::min(recorded_first_ns, axis.recorded_begin_ns);
      replayed_first_ns = std::min(replayed_first_ns, axis.replayed_begin_ns);
      axes_.push_back(axis);
    }
    for (RankAxis& axis : axes_) {
      axis.recorded_shift_ns -= recorded_first_ns;
      axis.recorded_begin_ns -= recorded_first_ns;
      axis.replayed_shift_ns -= replayed_first_ns;
      axis.replayed_begin_ns -= replayed_first_ns;
    }
    return {};
  }

  [[nodiscard]] std::int64_t BeginOf(const MeasuredRank& rank) const {
    std::int64_t begin_ns = INT64_MAX;
    for (const StepRecord& step : rank.steps()) {
      begin_ns = step.iteration == timing_.iteration ? std::min(begin_ns, step.start_ns) : begin_ns;
    }
    return begin_ns;
  }

  Status AddNodes() {
    AddNode(nullptr, 0, 0);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      timing_.first.push_back(static_cast<Index>(timing_.nodes.size()));
      actor_of_.clear();
      for (const NodeInfo& node : ranks_[r].data().nodes) {
        if (node.recorded_elapsed_ns == NodeInfo::kUnknownNs) {
          return BadInput("it was written by an earlier version, without delays");
        }
        AddNode(&node, node.recorded_elapsed_ns, node.recorded_delay_ns);
        timing_.actor.back() = ActorOf(r, node.actor);
      }
      const auto step_ns = ranks_[r].data().facts.recorded_step_ns;
      timing_.recorded_pass_ns = std::max(
          timing_.recorded_pass_ns, step_ns.value_or(0) * CountRecordedSteps(ranks_[r].data()));
    }
    timing_.first.push_back(static_cast<Index>(timing_.nodes.size()));
    return {};
  }

  void AddNode(const NodeInfo* node, std::int64_t duration_ns, std::int64_t delay_ns) {
    timing_.nodes.push_back(node);
    timing_.transfers.push_back(nullptr);
    timing_.recorded.duration_ns.push_back(duration_ns);
    timing_.recorded.delay_ns.push_back(delay_ns);
    timing_.actor.push_back(-1);
  }

  std::int32_t ActorOf(std::size_t rank, const std::string& name) {
    const auto [at, added] =
        actor_of_.try_emplace(name, static_cast<std::int32_t>(timing_.actor_names.size()));
    if (added) {
      timing_.actor_names.push_back(fmt::format("rank {}, {}", ranks_[rank].data().rank, name));
    }
    return at->second;
  }

  // Calls take(node, dependency) for every edge.
  template <typename Take>
  void VisitEdges(const Take& take) const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const EdgeInfo& edge : ranks_[r].data().edges) {
        const auto from = ranks_[r].FindNode(edge.from);
        const auto to = ranks_[r].FindNode(edge.to);
        if (from && to) {
          take(timing_.first[r] + *to, timing_.first[r] + *from);
        }
      }
    }
  }

  void AddEdges() {
    TimingGraph& graph = timing_.recorded;
    graph.dep_offset.assign(timing_.nodes.size() + 1, 0);
    VisitEdges([&](Index to, Index /*from*/) { ++graph.dep_offset[to + 1]; });
    for (std::size_t i = 0; i < timing_.nodes.size(); ++i) {
      graph.dep_offset[i + 1] += graph.dep_offset[i];
    }
    graph.deps.resize(graph.dep_offset.back());
    std::vector<Index> next(graph.dep_offset);
    VisitEdges([&](Index to, Index from) { graph.deps[next[to]++] = from; });
    graph.reasons.assign(graph.deps.size(), 0);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (Index i = timing_.first[r]; i < timing_.first[r + 1]; ++i) {
        if (timing_.recorded.DepsOf(i).empty()) {  // its delay counts from the trace's base
          graph.delay_ns[i] = timing_.nodes[i]->recorded_start_ns + axes_[r].recorded_shift_ns;
        }
      }
    }
  }

  // Where the transfer of a member stands among the nodes.
  [[nodiscard]] Index NodeOf(const MatchedMember& member) const {
    return timing_.first[member.rank] + member.node;
  }

  void AddTransfers() {
    TimingGraph& graph = timing_.recorded;
    graph.match.assign(graph.size(), -1);
    graph.transfer_ns.assign(graph.size(), 0);
    graph.need.assign(graph.size(), ArrivalNeed::kAll);
    graph.root.assign(graph.size(), 0);
    std::int32_t number = 0;
    for (std::size_t t = 0; t < matches_.size(); ++t) {
      const std::span<const MatchedMember> members = matches_.Of(t);
      for (const MatchedMember& member : members) {
        timing_.transfers[NodeOf(member)] = member.info;
      }
      if (members.size() > 1) {
        AddMatch(members, number++);
      }
    }
  }

  void AddMatch(std::span<const MatchedMember> members, std::int32_t number) {
    TimingGraph& graph = timing_.recorded;
    std::vector<TransferMember> times;
    times.reserve(members.size());
    for (const MatchedMember& member : members) {
      const CommSpec& spec = member.info->spec;
      const NodeInfo& node = *timing_.nodes[NodeOf(member)];
      const std::int64_t start_ns = node.recorded_start_ns + axes_[member.rank].recorded_shift_ns;
      times.push_back({start_ns, start_ns + node.recorded_elapsed_ns, spec.kind,
                       spec.kind == CommKind::kSend || spec.root == ranks_[member.rank].data().rank,
                       spec.send_end});
    }
    const std::vector<TransferPart> parts = SplitTransfer(times);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const Index i = NodeOf(members[m]);
      graph.match[i] = number;
      graph.need[i] = parts[m].need;
      graph.root[i] = times[m].root ? 1 : 0;
      graph.transfer_ns[i] = parts[m].transfer_ns;
    }
  }

  Status Order() {
    const TimingGraph& graph = timing_.recorded;
    wiring_ = WiringOf(graph);
    std::vector<std::size_t> waiting;  // by node: for so many dependencies
    for (Index i = 0; i < graph.size(); ++i) {
      waiting.push_back(graph.DepsOf(i).size());
      if (waiting.back() == 0) {
        timing_.order.push_back(i);
      }
    }
    for (std::size_t at = 0; at < timing_.order.size(); ++at) {
      for (const Index dependent : wiring_.dependents.Of(timing_.order[at])) {
        if (--waiting[dependent] == 0) {
          timing_.order.push_back(dependent);
        }
      }
    }
    return timing_.order.size() == graph.size() ? Status{} : BadInput("its edges form a cycle");
  }

  void PlaceReplayed() {
    const std::size_t n = timing_.nodes.size();
    timing_.replayed_start_ns.assign(n, 0);
    timing_.replayed_end_ns.assign(n, 0);
    timing_.measured.assign(n, 0);
    timing_.measured[0] = 1;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t k = 0; k < ranks_[r].data().nodes.size(); ++k) {
        for (const Index at : ranks_[r].Records(k)) {
          const NodeRecord& record = ranks_[r].data().records[at];
          if (record.iteration == timing_.iteration) {
            const Index i = timing_.first[r] + static_cast<Index>(k);
            timing_.measured[i] = 1;
            timing_.replayed_start_ns[i] = record.start_ns + axes_[r].replayed_shift_ns;
            timing_.replayed_end_ns[i] = timing_.replayed_start_ns[i] + record.duration_ns;
          }
        }
      }
    }
    const double factor = GapFactor();
    const auto scaled = [factor](std::int64_t ns) {
      return static_cast<std::int64_t>(static_cast<double>(std::max<std::int64_t>(ns, 0)) * factor);
    };
    for (const Index i : timing_.order) {
      if (timing_.measured[i] != 0) {
        continue;
      }
      const NodeInfo& node = *timing_.nodes[i];
      const bool skipped = node.counts_for_coverage;  // what counts and has no record did not run
      std::int64_t start_ns = INT64_MIN;
      for (const Index dep : timing_.recorded.DepsOf(i)) {
        start_ns = std::max(start_ns, timing_.replayed_end_ns[dep]);
      }
      start_ns =
          start_ns == INT64_MIN ? RootStart(i, scaled) : start_ns + scaled(node.recorded_delay_ns);
      timing_.replayed_start_ns[i] = start_ns;
      timing_.replayed_end_ns[i] = start_ns + (skipped ? 0 : scaled(node.recorded_elapsed_ns));
      if (timing_.recorded_pass_ns == 0) {
        timing_.replayed_end_ns[i] = std::max(timing_.replayed_end_ns[i], LaunchEndNs(i));
      }
    }
  }

  // Without a recording nothing says how long a launch takes; that it had not ended follows where
  // what it launched began after all else that it waited for.
  [[nodiscard]] std::int64_t LaunchEndNs(Index i) const {
    std::int64_t end_ns = INT64_MIN;
    for (const Index launched : wiring_.dependents.Of(i)) {
      std::int64_t ready_ns = INT64_MIN;
      for (const Index dep : timing_.recorded.DepsOf(launched)) {
        ready_ns = timing_.measured[dep] != 0 ? std::max(ready_ns, timing_.replayed_end_ns[dep])
                                              : ready_ns;
      }
      const std::int64_t start_ns = timing_.replayed_start_ns[launched];
      if (timing_.measured[launched] != 0 && start_ns > ready_ns) {
        end_ns = std::max(end_ns, start_ns);
      }
    }
    return end_ns;
  }

  template <typename Scale>
  std::int64_t RootStart(Index i, const Scale& scaled) const {
    const std::size_t r = RankOf(i);
    return axes_[r].replayed_begin_ns +
           scaled(timing_.recorded.delay_ns[i] - axes_[r].recorded_begin_ns);
  }

  [[nodiscard]] double GapFactor() const {
    const std::string text = TextIn(manifest_.options, "host_gap_factor");
    double factor = 1;  // "untraced" too: what is too long then is squeezed
    std::from_chars(text.data(), text.data() + text.size(), factor);
    return factor;
  }

  // Backwards over each actor's nodes: none ends after the next measured one begins. An actor
  // belongs to one rank.
  void SqueezeHosts() {
    std::vector<std::vector<Index>> by_start(ranks_.size());
    for (const Index i : timing_.order) {
      if (timing_.actor[i] >= 0 && timing_.transfers[i] == nullptr) {
        by_start[RankOf(i)].push_back(i);
      }
    }
    std::vector<std::int64_t> bound_ns(timing_.actor_names.size(), INT64_MAX);
    for (std::vector<Index>& nodes : by_start) {
      const auto start_of = [this](Index i) { return timing_.nodes[i]->recorded_start_ns; };
      if (!std::ranges::is_sorted(nodes, {}, start_of)) {  // those of one stream mostly are
        std::ranges::stable_sort(nodes, {}, start_of);
      }
      for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
        Squeeze(*at, bound_ns[static_cast<std::size_t>(timing_.actor[*at])]);
      }
    }
  }

  void Squeeze(Index i, std::int64_t& bound_ns) {
    if (timing_.measured[i] == 0) {
      timing_.replayed_end_ns[i] = std::min(timing_.replayed_end_ns[i], bound_ns);
      timing_.replayed_start_ns[i] =
          std::min(timing_.replayed_start_ns[i], timing_.replayed_end_ns[i]);
    }
    bound_ns = std::min(bound_ns, timing_.replayed_start_ns[i]);
  }

  [[nodiscard]] std::size_t RankOf(Index i) const {
    return static_cast<std::size_t>(
        std::upper_bound(timing_.first.begin(), timing_.first.end(), i) - timing_.first.begin() -
        1);
  }

  std::span<const MeasuredRank> ranks_;
  const TransferMatches& matches_;
  const RunManifest& manifest_;
  RunTiming timing_;
  std::vector<RankAxis> axes_;
  Wiring wiring_;
  std::unordered_map<std::string_view, std::int32_t> actor_of_;  // of one rank
};

}  // namespace

std::optional<MedianPass> FindMedianPass(std::span<const MeasuredRank> ranks) {
  std::vector<std::pair<std::int64_t, std::int32_t>> sorted;
  for (const auto& [iteration, pass_ns] : PassTimes(ranks)) {
    sorted.emplace_back(pass_ns, iteration);
  }
  if (sorted.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(sorted);
  const auto& [pass_ns, iteration] = sorted[(sorted.size() - 1) / 2];
  return MedianPass{.iteration = iteration, .pass_ns = pass_ns};
}

Result<RunTiming> TimeRun(std::span<const MeasuredRank> ranks, const TransferMatches& matches,
                          const RunManifest& manifest, const MedianPass& pass) {
  return Builder(ranks, matches, manifest, pass).Build();
}

}  // namespace reprise
