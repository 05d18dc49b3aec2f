#include "replayer/plan/timing_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "et_schema/trace_set.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/recorded_times.h"

namespace reprise {
namespace {

using Index = Graph::Index;

ActorKind KindOf(const Actor& actor) {
  switch (actor.kind) {
    case Actor::Kind::kThread:
      return ActorKind::kThread;
    case Actor::Kind::kStream:
      return ActorKind::kStream;
    case Actor::Kind::kGroup:
      break;
  }
  return ActorKind::kTransfer;
}

void Append(const Graph& graph, const RankClock& clock, TimingTrace& trace) {
  const auto position = static_cast<std::int32_t>(trace.ranks.size());
  const auto first = static_cast<Index>(trace.graph.size());
  trace.ranks.push_back(graph.metadata().rank);
  trace.recording.clock_uncertainty_ns.push_back(graph.metadata().clock_uncertainty_ns);
  std::map<std::tuple<ActorKind, std::int64_t, std::int32_t>, std::int32_t> actors;
  const std::int32_t first_actor =
      trace.recording.actor.empty()
          ? 0
          : *std::max_element(trace.recording.actor.begin(), trace.recording.actor.end()) + 1;
  for (Index i = 0; i < graph.size(); ++i) {
    trace.graph.names.push_back({graph.metadata().rank, graph.id(i)});
    const Actor actor = graph.actor(i);
    const ActorKind kind = KindOf(actor);
    // All transfers of a rank are one actor here: only "another than a thread or stream" matters.
    const auto key = kind == ActorKind::kTransfer
                         ? std::tuple(kind, std::int64_t{0}, std::int32_t{0})
                         : std::tuple(kind, actor.id, actor.device);
    const auto [at, added] =
        actors.try_emplace(key, first_actor + static_cast<std::int32_t>(actors.size()));
    trace.recording.actor.push_back(at->second);
    trace.recording.kind.push_back(kind);
    trace.recording.rank.push_back(position);
    trace.recording.is_wait.push_back(IsWait(graph, i) ? 1 : 0);
    const DeviceWork* const work = graph.device_work(i);
    trace.recording.launched_before.push_back(work != nullptr && !work->launch_recorded ? 1 : 0);
    trace.step.push_back(StepOf(graph, i));
    const bool rootless = graph.deps(i).empty();
    trace.graph.delay_ns.push_back(rootless ? clock.Map(graph.delay_ns(i)) : graph.delay_ns(i));
    trace.graph.duration_ns.push_back(graph.duration_ns(i));
    for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
      trace.graph.deps.push_back(first + graph.deps(i)[d]);
      trace.graph.reasons.push_back(static_cast<std::uint8_t>(graph.reasons(i)[d]));
    }
    trace.graph.dep_offset.push_back(static_cast<Index>(trace.graph.deps.size()));
  }
  const RecordedTimes times = RecordedTimesOf(graph, clock);
  const auto append = [](std::vector<std::int64_t>& all, const std::vector<std::int64_t>& of_rank) {
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  };
  append(trace.recording.start_ns, times.start_ns);
  append(trace.recording.end_ns, times.end_ns);
  trace.first.push_back(first + graph.size());
}

TimingTrace Empty() {
  TimingTrace trace;
  trace.graph.dep_offset.push_back(0);
  trace.first.push_back(0);
  return trace;
}

struct Member {
  Index node;
  const CommSpec* spec;
  std::int64_t transfer_ns;  // the file's
};
using Matches = std::map<std::pair<SequenceKey, std::int64_t>, std::vector<Member>>;

Matches FindMatches(std::span<const Graph* const> graphs, TimingTrace& trace) {
  Matches matches;
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    const Graph& graph = *graphs[k];
    for (Index i = 0; i < graph.size(); ++i) {
      const CommSpec* spec = graph.comm(i);
      if (spec == nullptr) {
        continue;
      }
      if (spec->certainty == GroupCertainty::kUnknown || spec->outside ||
          spec->kind == CommKind::kUnknown) {
        ++trace.unmatched_transfers;
        continue;
      }
      matches[{SequenceOf(*spec, graph.metadata().rank), spec->index}].push_back(
          {trace.first[k] + i, spec, graph.transfer_ns(i)});
    }
  }
  return matches;
}

void Match(std::span<const Graph* const> graphs, TimingTrace& trace) {
  const std::size_t n = trace.graph.size();
  trace.graph.match.assign(n, -1);
  trace.graph.transfer_ns.assign(n, 0);
  trace.graph.need.assign(n, ArrivalNeed::kAll);
  trace.graph.root.assign(n, 0);
  std::int32_t number = 0;
  for (const auto& [key, members] : FindMatches(graphs, trace)) {
    if (members.size() < 2) {
      trace.unmatched_transfers += members.size();
      continue;
    }
    std::vector<TransferMember> times;
    for (const Member& member : members) {
      const std::int32_t rank = trace.ranks[trace.recording.rank[member.node]];
      times.push_back({trace.recording.start_ns[member.node], trace.recording.end_ns[member.node],
                       member.spec->kind,
                       member.spec->kind == CommKind::kSend || member.spec->root == rank,
                       member.spec->send_end});
    }
    const std::vector<TransferPart> parts = SplitTransfer(times);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const Index node = members[m].node;
      trace.graph.match[node] = number;
      trace.graph.need[node] = parts[m].need;
      trace.graph.root[node] = times[m].root ? 1 : 0;
      trace.graph.transfer_ns[node] =
          members[m].transfer_ns >= 0 ? members[m].transfer_ns : parts[m].transfer_ns;
    }
    trace.matched_transfers += members.size();
    ++number;
  }
}

}  // namespace

std::pair<std::size_t, Graph::Index> TimingTrace::Locate(std::uint32_t node) const {
  const auto rank = static_cast<std::size_t>(recording.rank[node]);
  return {rank, node - first[rank]};
}

TimingTrace TimingOfRank(const Graph& graph) {
  TimingTrace trace = Empty();
  Append(graph, RankClock{}, trace);
  return trace;
}

TimingTrace TimingOfSet(std::span<const Graph* const> graphs) {
  TimingTrace trace = Empty();
  const std::int64_t origin_ns = OriginNs(graphs);
  for (const Graph* graph : graphs) {
    Append(*graph, RankClock::Of(graph->metadata(), origin_ns), trace);
  }
  Match(graphs, trace);
  return trace;
}

}  // namespace reprise
