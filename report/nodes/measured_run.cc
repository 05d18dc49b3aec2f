#include "report/nodes/measured_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/parallel.h"

namespace reprise {
namespace {

std::vector<MeasuredRank> MeasureRanks(const RunData& run) {
  std::vector<std::optional<MeasuredRank>> measured(run.ranks.size());
  ForEachInParallel(measured.size(), [&](std::size_t r) { measured[r].emplace(run.ranks[r]); });
  std::vector<MeasuredRank> ranks;
  ranks.reserve(measured.size());
  for (std::optional<MeasuredRank>& rank : measured) {
    ranks.push_back(std::move(*rank));
  }
  return ranks;
}

// Where each of the ranks stands among `all`, which has it; both are by rank.
std::vector<std::size_t> Positions(const std::vector<RankData>& ranks,
                                   const std::vector<RankData>& all) {
  std::vector<std::size_t> positions;
  positions.reserve(ranks.size());
  auto at = all.begin();
  for (const RankData& rank : ranks) {
    at = std::ranges::find(at, all.end(), rank.rank, &RankData::rank);
    positions.push_back(static_cast<std::size_t>(at - all.begin()));
  }
  return positions;
}

}  // namespace

MeasuredRun::MeasuredRun(const RunData* run, std::vector<MeasuredRank> of_run)
    : data(run), ranks(std::move(of_run)), positions(Positions(run->ranks, run->ranks)) {}

MeasuredRun::MeasuredRun(const RunData& run) : MeasuredRun(&run, MeasureRanks(run)) {
  transfers = SummarizeTransfers(ranks);
}

MeasuredRun MeasuredRun::OfOutline(const RunData& outline) {
  MeasuredRun run(&outline, MeasureRanks(outline));
  run.transfers.times = std::make_shared<RunTransfers>(run.ranks);
  return run;
}

MeasuredRun::MeasuredRun(const RunData& part, const MeasuredRun& outline)
    : data(&part),
      ranks(MeasureRanks(part)),
      positions(Positions(part.ranks, outline.data->ranks)),
      transfers(TakeTransfers(ranks, outline.transfers.times)) {}

}  // namespace reprise
