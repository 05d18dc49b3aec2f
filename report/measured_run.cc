#include "report/measured_run.h"

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

}  // namespace

MeasuredRun::MeasuredRun(const RunData& run)
    : data(&run), ranks(MeasureRanks(run)), transfers(SummarizeTransfers(ranks)) {}

}  // namespace reprise
