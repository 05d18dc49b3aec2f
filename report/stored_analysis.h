// What the analysis of a large run found, kept beside its files (kStoredAnalysisFile), so that the
// next report reads no nodes. Only of runs that are complete and have checksums, which no longer
// change, and that may hold times of day. Only the program that wrote it reads it, and only while
// the run's files are those that were analysed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/page/html_data.h"
#include "report/run/memory_need.h"
#include "report/sections/html_limits.h"
#include "report/values/report.h"

namespace reprise {

struct Analysis {
  Report report;
  std::optional<PageDetails> page;  // where it was asked for
};

// How a run is analysed, which says what is found and whether that is kept.
struct AnalysisBasis {
  std::int64_t least_bytes = 0;   // of the ranks' files together: of less nothing is kept
  std::int64_t memory_bytes = 0;  // a run that would take more is read rank by rank
  HtmlLimits limits;
};

class StoredAnalysis {
 public:
  // Of the run as it is now: before it is analysed.
  StoredAnalysis(RankSizes& sizes, const AnalysisBasis& basis);

  // Without the verdict, which depends on what the user knows. Nothing: there is none, it is of
  // another program, of other files or of another basis, or it is damaged.
  [[nodiscard]] std::optional<Analysis> Read() const;
  // Where nothing can be written beside the run, only the next report's time is lost.
  void Write(const Analysis& analysis) const;

 private:
  std::string directory_;
  std::string origin_;  // how the file begins; empty: nothing is kept of this run
};

}  // namespace reprise
