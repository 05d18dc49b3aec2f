#include "report/run/run_part.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace reprise {
namespace {

std::int32_t StepsOf(const RankData& rank) {
  std::int32_t steps = 0;
  for (const StepRecord& record : rank.steps) {
    steps = std::max(steps, record.step + 1);
  }
  return steps;
}

void KeepSteps(std::int32_t steps, RankData& rank) {
  std::unordered_set<std::uint64_t> left_out;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rank.nodes.size(); ++i) {
    if (rank.nodes[i].step >= steps) {
      left_out.insert(rank.nodes[i].node_id);
      continue;
    }
    if (kept != i) {
      rank.nodes[kept] = std::move(rank.nodes[i]);
      if (!rank.origins.empty()) {
        rank.origins[kept] = std::move(rank.origins[i]);
      }
    }
    ++kept;
  }
  rank.nodes.resize(kept);
  rank.origins.resize(std::min(kept, rank.origins.size()));
  const auto is_left_out = [&left_out](const auto& of) { return left_out.contains(of.node_id); };
  std::erase_if(rank.collectives, is_left_out);
  std::erase_if(rank.records, is_left_out);
  std::erase_if(rank.joules, is_left_out);
  std::erase_if(rank.edges, [&left_out](const EdgeInfo& edge) {
    return left_out.contains(edge.from) || left_out.contains(edge.to);
  });
  std::erase_if(rank.steps, [steps](const StepRecord& record) { return record.step >= steps; });
  rank.facts.recorded_step_ns = std::nullopt;
}

}  // namespace

RunPart PartOf(const RunData& run) {
  RunPart part;
  for (const RankData& rank : run.ranks) {
    part[rank.rank] = StepsOf(rank);
  }
  return part;
}

std::vector<RunPart> CommonParts(std::span<const RunPart> parts) {
  RunPart common = parts.empty() ? RunPart() : parts.front();
  const auto is_one_rank = [](const RunPart& part) { return part.size() == 1; };
  std::int32_t least = common.empty() ? 0 : common.begin()->second;
  for (const RunPart& part : parts) {
    std::erase_if(common, [&part](const auto& of) { return !part.contains(of.first); });
    for (auto& [rank, steps] : common) {
      steps = std::min(steps, part.at(rank));
    }
    least = part.empty() ? 0 : std::min(least, part.begin()->second);
  }
  std::vector<RunPart> out(parts.size(), common);
  if (common.empty() && std::ranges::all_of(parts, is_one_rank)) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      out[i] = {{parts[i].begin()->first, least}};
    }
  }
  return out;
}

void KeepPart(const RunPart& part, RunData& run) {
  std::erase_if(run.ranks, [&part](const RankData& rank) { return !part.contains(rank.rank); });
  for (RankData& rank : run.ranks) {
    if (const std::int32_t steps = part.at(rank.rank); steps < StepsOf(rank)) {
      KeepSteps(steps, rank);
      run.manifest.recorded_step_ns = 0;
      run.manifest.untraced_step_ns = -1;
    }
  }
}

}  // namespace reprise
