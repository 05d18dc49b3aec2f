// RankSums kept beside a rank's file (SumsPath, docs/run_format.md), so that a report of a run that
// is read rank by rank need not take the rank's nodes. Only the program that wrote them reads them,
// and only while the rank's file is the one that they are of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "core/result.h"
#include "report/rank_sums.h"
#include "report/run/run_reader.h"

namespace reprise {

// Of these ranks of a complete run, several at a time, but no more than `most`. Ranks keep those
// that are still of use. Ranks get none whose files have less than `least_bytes`, nor do runs
// without provenance, of one rank, or without an iteration that all ranks finished. Environment
// error: they cannot be written; bad input: a file is damaged.
[[nodiscard]] Status StoreSums(const std::string& directory, std::span<const std::int32_t> ranks,
                               std::int64_t least_bytes,
                               std::size_t most = std::numeric_limits<std::size_t>::max());

// Of a rank of an open run. Nothing: none are kept, or it is not known which file the rank has. An
// error says why they are of no use: damaged, of another program or run, or of another pass.
[[nodiscard]] Result<std::optional<RankSums>> ReadSums(const RunReader& reader, int rank,
                                                       const MedianPass& pass);

}  // namespace reprise
