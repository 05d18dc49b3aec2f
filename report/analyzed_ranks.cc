#include "report/analyzed_ranks.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/log.h"
#include "report/classes/coverage.h"
#include "report/stored_sums.h"

namespace reprise {

AnalyzedRank::AnalyzedRank(RunData&& read, const MeasuredRun& outline, const PartSums& sums,
                           RankSums own)
    : data(std::move(read)), measured(data, outline), found(sums.Find(measured, std::move(own))) {}

AnalyzedRanks::AnalyzedRanks(const RunReader& reader, const MeasuredRun& outline,
                             const PartSums& sums)
    : reader_(reader), outline_(outline), sums_(sums) {
  for (const MeasuredRank& rank : outline.ranks) {
    if (!rank.data().samples.empty()) {
      sampled_hosts_.insert(HostOf(rank));
    }
  }
}

Result<std::unique_ptr<AnalyzedRank>> AnalyzedRanks::Take(std::size_t position) {
  const MeasuredRank& rank = outline_.ranks[position];
  std::optional<RankSums> own = KeptSums(rank.data().rank);
  const RankContent content = !own                                    ? RankContent::kWhole
                              : sampled_hosts_.contains(HostOf(rank)) ? RankContent::kOperations
                                                                      : RankContent::kTransfers;
  REPRISE_ASSIGN(RunData data, reader_.ReadUnmoved(std::array{rank.data().rank}, content));
  if (!own) {  // on its own clock, as the rank itself finds them
    own = sums_.SumsOf(MeasuredRank(data.ranks.front()));
  }
  reader_.clocks().Move(data.ranks.front());
  return std::make_unique<AnalyzedRank>(std::move(data), outline_, sums_, std::move(*own));
}

void AnalyzedRanks::WarnOfUnusable() const {
  if (unusable_ > 0) {
    LogWarning(fmt::format("{}{}: the ranks' nodes are read instead, which takes longer", why_,
                           unusable_ > 1 ? fmt::format(" (and {} more)", unusable_ - 1) : ""));
  }
}

std::string AnalyzedRanks::HostOf(const MeasuredRank& rank) const {
  return IdentifyRank(rank, outline_.data->manifest).host;
}

std::optional<RankSums> AnalyzedRanks::KeptSums(std::int32_t rank) {
  if (!sums_.pass() || outline_.ranks.size() < 2) {
    return std::nullopt;
  }
  auto kept = ReadSums(reader_, rank, *sums_.pass());
  if (kept) {
    return std::move(*kept);
  }
  const std::lock_guard lock(mutex_);
  why_ = unusable_++ == 0 ? kept.error().message : why_;
  return std::nullopt;
}

}  // namespace reprise
