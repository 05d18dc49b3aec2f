#include "replayer/plan/part.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/matching/matching.h"
#include "core/counted.h"
#include "core/text.h"
#include "replayer/plan/group_sizes.h"
#include "replayer/plan/selection.h"

namespace reprise {
namespace {

bool SelectsNodes(const PartOptions& part) { return !part.steps.empty() || !part.range.empty(); }

std::string StreamsText(const std::vector<StreamId>& streams) {
  std::string text;
  for (const StreamId& id : streams) {
    text += fmt::format("{}{}/{}", text.empty() ? "" : ",", id.device, id.stream);
  }
  return text;
}

}  // namespace

Result<RankPart> LoadPart(const TraceSet& set, const RankMapping& mapping, std::int32_t rank,
                          const PlanOptions& options) {
  const std::int32_t replayed = mapping.replayed.at(static_cast<std::size_t>(rank));
  REPRISE_TRY(set.VerifyFile(replayed));
  REPRISE_ASSIGN(Graph graph, Graph::Load(set.RankPath(replayed)));
  if (options.edit) {
    REPRISE_ASSIGN(graph, options.edit(graph, replayed));
  }
  REPRISE_TRY(CheckStreams(graph, options.streams));
  RankPart part{.graph = std::move(graph)};
  part.recorded_nodes = part.graph.size();
  if (SelectsNodes(options.part)) {
    REPRISE_ASSIGN(const Selection selection, SelectNodes(part.graph, options.part));
    REPRISE_ASSIGN(part.graph, Extract(part.graph, selection, part.diagnostics));
  }
  if (mapping.changes) {
    REPRISE_ASSIGN(part.graph, RewriteFor(part.graph, mapping, rank, part.diagnostics));
  }
  return part;
}

void PartCounts::Add(const PartCounts& other) {
  nodes += other.nodes;
  recorded_nodes += other.recorded_nodes;
  edges_cut += other.edges_cut;
  outside += other.outside;
  other_streams += other.other_streams;
  unreceived += other.unreceived;
  untimed += other.untimed;
}

PartCounts CountPart(const RankPart& part, const Plan& plan, const PlanOptions& options) {
  PartCounts counts{.nodes = part.graph.size(),
                    .recorded_nodes = part.recorded_nodes,
                    .edges_cut = part.diagnostics.CountOf("edge_cut"),
                    .outside = part.diagnostics.CountOf("transfer_outside")};
  for (Graph::Index i = 0; i < part.graph.size() && !options.streams.empty(); ++i) {
    const bool other = part.graph.actor(i).kind == Actor::Kind::kStream && !plan.work[i].counts;
    counts.other_streams += other ? 1 : 0;
  }
  for (Graph::Index i = 0; i < part.graph.size(); ++i) {
    const CommSpec* const spec = part.graph.comm(i);
    const bool works = spec != nullptr || plan.work[i].type == WorkType::kCompute;
    counts.unreceived += spec != nullptr && spec->send_end == SendEnd::kUnreceived ? 1 : 0;
    counts.untimed +=
        works && part.graph.untimed(i) && plan.work[i].mode == ReplayMode::kTimed ? 1 : 0;
  }
  return counts;
}

std::map<std::string, std::string> DescribePart(const PlanOptions& options,
                                                const RankMapping& mapping) {
  const PartOptions& part = options.part;
  std::map<std::string, std::string> text;
  if (part.one_trace) {
    text["one_trace"] = std::to_string(mapping.replayed.front());
  } else if (!part.ranks.empty()) {
    text["ranks"] = NumbersText(part.ranks);
  }
  if (mapping.changes) {
    text["group_sizes"] = mapping.sizes == GroupSizes::kScale ? "scale" : "keep";
  }
  if (!part.steps.empty()) {
    text["steps"] = NumbersText(part.steps);
  }
  if (!part.range.empty()) {
    text["range"] = part.range;
  }
  if (!options.streams.empty()) {
    text["streams"] = StreamsText(options.streams);
  }
  return text;
}

std::vector<std::string> PartNotes(const PlanOptions& options, const TraceSet& set,
                                   const RankMapping& mapping, const PartCounts& counts) {
  const PartOptions& part = options.part;
  std::vector<std::string> notes;
  if (part.one_trace) {
    const std::size_t size = mapping.replayed.size();
    notes.push_back(fmt::format("one trace: {} what rank {} of {} recorded",
                                size == 1 ? "1 rank replays" : fmt::format("{} ranks replay", size),
                                mapping.replayed.front(), set.world_size));
  } else if (!part.ranks.empty()) {
    notes.push_back(fmt::format("ranks: {} of {}", NumbersText(part.ranks), set.world_size));
  }
  if (SelectsNodes(part)) {
    notes.push_back(fmt::format("{}{}{}: {} of {} nodes; {} edges from outside cut",
                                part.steps.empty() ? "" : "steps " + NumbersText(part.steps),
                                part.steps.empty() || part.range.empty() ? "" : ", ",
                                part.range.empty() ? "" : "range " + part.range, counts.nodes,
                                counts.recorded_nodes, counts.edges_cut));
  }
  if (counts.outside > 0) {
    notes.push_back(fmt::format(
        "{} transfers reach nobody who takes part: they take their recorded time", counts.outside));
  }
  if (counts.unreceived > 0) {
    notes.push_back(
        fmt::format("{} without a receive: nothing is sent", Counted(counts.unreceived, "send")));
  }
  if (counts.untimed > 0) {
    notes.push_back(fmt::format(
        "warning: no time is recorded for {}: 0 is taken here; `reprise simulate --machine NAME` "
        "models what it can",
        Counted(counts.untimed, "node")));
  }
  if (!options.streams.empty()) {
    notes.push_back(fmt::format(
        "streams {}: {} nodes on other streams take their recorded time and are not executed",
        StreamsText(options.streams), counts.other_streams));
  }
  return notes;
}

namespace {

// As they are compared across ranks.
PlannedTransfer ComparedForm(const PlannedTransfer& planned) {
  if (!planned.only_meets) {
    return planned;
  }
  const CommSpec& spec = planned.spec;
  return {planned.node_id,
          {.kind = IsPointToPoint(spec.kind) ? spec.kind : CommKind::kBarrier,
           .group = spec.group,
           .certainty = spec.certainty,
           .index = spec.index,
           .peer = spec.peer,
           .outside = spec.outside}};
}

std::vector<PlannedTransfer> ComparedForms(const std::vector<PlannedTransfer>& plan) {
  std::vector<PlannedTransfer> compared;
  compared.reserve(plan.size());
  for (const PlannedTransfer& planned : plan) {
    compared.push_back(ComparedForm(planned));
  }
  return compared;
}

// What the comparison completed.
void TakeCompleted(std::vector<PlannedTransfer>& compared, std::vector<PlannedTransfer>& plan) {
  for (std::size_t k = 0; k < plan.size(); ++k) {
    if (!plan[k].only_meets) {
      plan[k] = std::move(compared[k]);
    }
  }
}

}  // namespace

Status AgreeOnTransfers(std::vector<std::vector<PlannedTransfer>>& plans,
                        const RankMapping& mapping, const PartOptions& part) {
  const RanksOfGroup ranks_of = [&](const std::string& id) { return mapping.RanksOf(id); };
  if (SelectsNodes(part)) {
    REPRISE_TRY(CheckSameTransfers(plans, mapping));
  }
  if (mapping.changes) {
    FitSizes(plans, mapping);
  }
  std::vector<std::vector<PlannedTransfer>> compared;
  compared.reserve(plans.size());
  for (const std::vector<PlannedTransfer>& plan : plans) {
    compared.push_back(ComparedForms(plan));
  }
  CompleteSplits(compared, ranks_of);
  Status matched = MatchTransfers(compared, ranks_of);
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    TakeCompleted(compared[rank], plans[rank]);
  }
  return matched;
}

Status AgreeOnTransfersAcross(GroupRounds& rounds, const RankMapping& mapping,
                              const PartOptions& part, std::vector<PlannedTransfer>& mine) {
  if (SelectsNodes(part)) {
    REPRISE_TRY(CheckSameTransfersAcross(rounds, mine));
  }
  if (mapping.changes) {
    REPRISE_TRY(FitSizesAcross(rounds, mapping, mine));
  }
  std::vector<PlannedTransfer> compared = ComparedForms(mine);
  Status matched = MatchAcross(
      rounds, [&](const std::string& id) { return mapping.RanksOf(id); }, compared);
  TakeCompleted(compared, mine);
  return matched;
}

std::vector<PlannedTransfer> TransfersOf(const Graph& graph, const Plan& plan) {
  std::vector<PlannedTransfer> transfers;
  for (const Graph::Index node : plan.transfers) {
    const Work& work = plan.work[node];
    transfers.push_back({graph.id(node), *graph.comm(node), work.mode == ReplayMode::kTimed});
    transfers.back().spec.outside = work.alone || work.mode == ReplayMode::kSkip;
  }
  return transfers;
}

std::vector<std::vector<PlannedTransfer>> FittedTransfers(std::span<const Graph> graphs,
                                                          std::span<const Plan> plans,
                                                          const RankMapping& mapping) {
  std::vector<std::vector<PlannedTransfer>> fitted;
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    fitted.push_back(TransfersOf(graphs[rank], plans[rank]));
  }
  if (mapping.changes) {
    FitSizes(fitted, mapping);
  }
  CompleteSplits(fitted, [&](const std::string& id) { return mapping.RanksOf(id); });
  return fitted;
}

}  // namespace reprise
