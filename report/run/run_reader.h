// A run on disk, read at once (ReadRun) or, where that would take too much memory, as an outline of
// all ranks and then some ranks at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/checksums.h"
#include "report/run/clocks.h"
#include "report/run/rank_reader.h"
#include "report/run/run.h"

namespace reprise {

// Reads on as many threads as there are cores. Several threads may call Read.
class RunReader {
 public:
  // Reads the manifest. Bad input: the directory is no run.
  static Result<RunReader> Open(const std::string& directory);

  [[nodiscard]] const RunManifest& manifest() const { return manifest_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::vector<std::int32_t> AllRanks() const;

  // Every rank, as ReadRun has it, or less of it.
  [[nodiscard]] Result<RunData> ReadAll(RankContent content = RankContent::kWhole);
  // These ranks, each on its own host's clock. No notes.
  [[nodiscard]] Result<RunData> ReadUnmoved(std::span<const std::int32_t> ranks,
                                            RankContent content = RankContent::kWhole) const;
  // The clock that ReadAll, which comes first, has found.
  [[nodiscard]] const ClockRelation& clocks() const { return *clocks_; }
  // These ranks on that clock.
  [[nodiscard]] Result<RunData> Read(std::span<const std::int32_t> ranks,
                                     RankContent content = RankContent::kWhole) const;
  // Of a file of the run, by its path; it holds. Empty: it is not known, or there is no such file.
  [[nodiscard]] std::string VerifiedChecksum(const std::string& path) const;

 private:
  RunReader() = default;

  std::string directory_;
  Checksums checksums_;  // which hold
  RunManifest manifest_;
  std::vector<std::int32_t> merged_ranks_;
  std::vector<std::string> notes_;
  std::optional<ClockRelation> clocks_;
};

}  // namespace reprise
