// Reads one rank's rows out of rank<N>.sqlite or run.sqlite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/run/rank_content.h"
#include "report/run/run.h"

namespace reprise {

// Both may be called for several ranks at once.
//
// From rank<N>.sqlite. `notes` gets what the user should know: not closed, log not recovered.
// `checksum`: that of the file, verified, so that rank<N>.columns may stand for rows of it; empty:
// not known.
[[nodiscard]] Result<RankData> ReadRankFile(const std::string& directory, int rank,
                                            RankContent content, const std::string& checksum,
                                            std::vector<std::string>& notes);
// From run.sqlite: everything but records, which are rebuilt as one iteration of medians.
[[nodiscard]] Result<RankData> ReadRankFromMerged(const std::string& directory, int rank,
                                                  RankContent content);
// Ranks of run.sqlite that have steps, ascending: steps alone.
[[nodiscard]] Result<std::vector<RankData>> ReadMergedSteps(const std::string& directory);
// Ranks that run.sqlite has; empty if there is no such file.
[[nodiscard]] Result<std::vector<std::int32_t>> RanksInMerged(const std::string& directory);

}  // namespace reprise
