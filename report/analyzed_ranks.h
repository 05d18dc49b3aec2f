// The ranks of a run that is read rank by rank, each with what its nodes say. Only report/ sees
// this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "core/result.h"
#include "report/nodes/measured_run.h"
#include "report/part_sums.h"
#include "report/run/run_reader.h"

namespace reprise {

// A rank in memory. Views into `data` stay valid.
struct AnalyzedRank {
  AnalyzedRank(RunData&& read, const MeasuredRun& outline, const PartSums& sums, RankSums own);
  RunData data;
  MeasuredRun measured;
  FoundOfPart found;
};

// Takes the sums that are kept of a rank (report/stored_sums.h), or finds them anew.
class AnalyzedRanks {
 public:
  // All must outlive it. The reader has read the outline.
  AnalyzedRanks(const RunReader& reader, const MeasuredRun& outline, const PartSums& sums);

  // Of the rank at this position. Of several at once. Bad input: its file is damaged.
  [[nodiscard]] Result<std::unique_ptr<AnalyzedRank>> Take(std::size_t position);
  // After all: warns of sums that are of no use.
  void WarnOfUnusable() const;

 private:
  [[nodiscard]] std::string HostOf(const MeasuredRank& rank) const;
  [[nodiscard]] std::optional<RankSums> KeptSums(std::int32_t rank);

  const RunReader& reader_;
  const MeasuredRun& outline_;
  const PartSums& sums_;
  std::set<std::string> sampled_hosts_;
  std::mutex mutex_;
  std::int64_t unusable_ = 0;
  std::string why_;  // of the first
};

}  // namespace reprise
