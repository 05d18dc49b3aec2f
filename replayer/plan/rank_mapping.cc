#include "replayer/plan/rank_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/text.h"

namespace reprise {
namespace {

// A group of one is each rank's own: the run has as many of them as ranks.
std::string OwnGroup(const std::string& group, std::int32_t rank) {
  return fmt::format("{} of rank {}", group, rank);
}

std::vector<std::int32_t> Counting(int size) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void IndexRunRanks(RankMapping& mapping) {
  for (std::size_t rank = mapping.replayed.size(); rank-- > 0;) {
    const auto recorded = static_cast<std::size_t>(mapping.replayed[rank]);
    mapping.replayed_by.resize(std::max(mapping.replayed_by.size(), recorded + 1), -1);
    mapping.replayed_by[recorded] = static_cast<std::int32_t>(rank);
  }
}

void ShrinkGroups(const TraceSet& set, RankMapping& mapping) {
  for (const auto& [id, group] : set.GroupsOf(mapping.replayed)) {
    MappedGroup mapped{.recorded = group.ranks, .description = group.description};
    for (const std::int32_t recorded : group.ranks) {
      if (const std::int32_t run_rank = mapping.RunRankOf(recorded); run_rank >= 0) {
        mapped.ranks.push_back(run_rank);
      }
    }
    if (!mapped.ranks.empty()) {
      mapping.groups[id] = std::move(mapped);
    }
  }
}

void SpreadGroups(const TraceSet& set, std::int32_t trace_rank, int size, RankMapping& mapping) {
  for (const auto& [id, group] : set.GroupsOf({trace_rank})) {
    const auto member = std::find(group.ranks.begin(), group.ranks.end(), trace_rank);
    if (member == group.ranks.end()) {
      continue;
    }
    if (group.ranks.size() > 1) {
      mapping.groups[id] = {Counting(size), group.ranks};
      continue;
    }
    for (std::int32_t rank = 0; rank < size; ++rank) {
      mapping.groups[OwnGroup(id, rank)] = {{rank}, group.ranks};
    }
  }
}

// One trace on all ranks: each replays the recorded rank, and rank 0 is the root.
bool SpreadTransfer(const RankMapping& mapping, std::int32_t rank, CommSpec& spec) {
  if (IsPointToPoint(spec.kind) ||
      (spec.certainty == GroupCertainty::kUnknown && !mapping.assume_groups)) {
    return false;
  }
  if (mapping.groups.contains(OwnGroup(spec.group, rank))) {
    spec.group = OwnGroup(spec.group, rank);
    spec.root = HasRoot(spec.kind) ? rank : spec.root;
    return true;
  }
  spec.root = HasRoot(spec.kind) ? 0 : spec.root;
  return mapping.groups.contains(spec.group);
}

Status CheckPresent(const TraceSet& set, const std::vector<std::int32_t>& ranks,
                    std::string_view flag) {
  for (const std::int32_t rank : ranks) {
    if (!set.HasRank(rank)) {
      return UsageError(fmt::format("{}: {} has no file of rank {}; there are ranks {}", flag,
                                    set.directory, rank, NumbersText(set.Ranks())));
    }
  }
  return {};
}

}  // namespace

std::int32_t RankMapping::RunRankOf(std::int32_t recorded) const {
  const auto at = static_cast<std::size_t>(recorded);
  return recorded < 0 || at >= replayed_by.size() ? -1 : replayed_by[at];
}

std::vector<std::int32_t> RankMapping::RanksOf(const std::string& group) const {
  const auto it = groups.find(group);
  return it == groups.end() ? std::vector<std::int32_t>{} : it->second.ranks;
}

Result<TraceSet> OpenChosen(const std::string& directory, const PartOptions& part) {
  if (part.ranks.empty() && !part.one_trace) {
    REPRISE_ASSIGN(TraceSet set, TraceSet::OpenPresent(directory));
    if (!set.missing.empty()) {
      return BadInput(fmt::format(
          "{}: {}; bring the others, or choose what is there with --ranks {}: what it exchanges "
          "with the others then takes its recorded time",
          directory, set.MissingRanks(), NumbersText(set.Ranks())));
    }
    return set;
  }
  REPRISE_ASSIGN(TraceSet set, TraceSet::OpenPresent(directory));
  REPRISE_TRY(CheckPresent(set, part.ranks, "--ranks"));
  if (part.trace_rank) {
    REPRISE_TRY(CheckPresent(set, {*part.trace_rank}, "--one-trace"));
  }
  return set;
}

Result<RankMapping> MapRanks(const TraceSet& set, const PlanOptions& options, int size) {
  const PartOptions& part = options.part;
  RankMapping mapping;
  mapping.one_trace = part.one_trace;
  mapping.assume_groups = options.assume_groups;
  mapping.sizes =
      part.group_sizes.value_or(part.one_trace ? GroupSizes::kScale : GroupSizes::kKeep);
  if (part.one_trace) {
    const std::int32_t trace_rank = part.trace_rank.value_or(set.Ranks().front());
    mapping.replayed.assign(static_cast<std::size_t>(size), trace_rank);
    mapping.changes = true;
    IndexRunRanks(mapping);
    SpreadGroups(set, trace_rank, size, mapping);
    return mapping;
  }
  const std::vector<std::int32_t> all = Counting(set.world_size);
  mapping.replayed = part.ranks.empty() ? all : part.ranks;
  mapping.changes = mapping.replayed != all;
  IndexRunRanks(mapping);
  ShrinkGroups(set, mapping);
  return mapping;
}

bool MapTransfer(const RankMapping& mapping, std::int32_t rank, CommSpec& spec) {
  if (mapping.one_trace) {
    return SpreadTransfer(mapping, rank, spec);
  }
  std::int32_t* const named = IsPointToPoint(spec.kind) ? &spec.peer
                              : HasRoot(spec.kind)      ? &spec.root
                                                        : nullptr;
  if (named == nullptr) {
    return true;
  }
  const std::int32_t run_rank = mapping.RunRankOf(*named);
  *named = run_rank >= 0 ? run_rank : *named;
  return run_rank >= 0;
}

Result<Graph> RewriteFor(const Graph& graph, const RankMapping& mapping, std::int32_t rank,
                         Diagnostics& diagnostics) {
  TraceMetadata metadata = graph.metadata();
  metadata.rank = rank;
  metadata.world_size = static_cast<std::int32_t>(mapping.replayed.size());
  return graph.Rewrite(std::move(metadata), [&](Graph::Index, Node& node) {
    if (!node.comm) {
      return true;
    }
    CommSpec& spec = *node.comm;
    if (!MapTransfer(mapping, rank, spec)) {
      const std::int32_t other = IsPointToPoint(spec.kind) ? spec.peer : spec.root;
      diagnostics.Count(
          "transfer_outside",
          fmt::format("node {}: {} in group {}{}", node.id, Name(spec.kind), spec.group,
                      other < 0 ? "" : fmt::format(", recorded rank {}", other)));
      // A sequence of its own, so that it delays no transfer with other ranks.
      spec.group += " (outside)";
      spec.outside = true;
    }
    return true;
  });
}

}  // namespace reprise
