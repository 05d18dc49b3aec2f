#include "report/shared_sums.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "core/log.h"
#include "report/run/memory_need.h"
#include "report/run/row_columns.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/stored_sums.h"

namespace reprise {
namespace {

std::vector<std::int32_t> RanksOfLargeFiles(const std::string& directory, std::int32_t ranks) {
  std::vector<std::int32_t> large;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(RankPath(directory, rank), error);
    if (!error && static_cast<std::int64_t>(bytes) >= kColumnsFromBytes) {
      large.push_back(rank);
    }
  }
  return large;
}

Status StoreOwnShare(const std::string& directory, const AnalysisOptions& options,
                     const Processes& processes) {
  REPRISE_ASSIGN(const RunManifest manifest, ReadManifest(directory));
  const std::vector<std::int32_t> large = RanksOfLargeFiles(directory, manifest.world_size);
  const ItemRange own = OwnShare(processes, large.size());
  const std::span<const std::int32_t> ranks = std::span(large).subspan(own.begin, own.size());
  if (ranks.empty()) {
    return {};
  }
  // All processes may be on one host.
  const std::int64_t memory_bytes =
      (options.memory_bytes > 0 ? options.memory_bytes : MachineMemoryBytes()) / processes.count();
  RankSizes sizes(directory);
  Status stored =
      StoreSums(directory, ranks, kColumnsFromBytes, RanksAtATime(sizes, ranks, memory_bytes));
  if (!stored && stored.error().kind == ErrorKind::kEnvironment) {
    LogWarning(stored.error().message + "; the first process reads these ranks' nodes");
    return {};
  }
  return stored;
}

}  // namespace

Status ShareSums(const std::string& directory, const AnalysisOptions& options,
                 Processes& processes) {
  if (processes.count() == 1) {
    return {};
  }
  Result<std::string> by_rank;
  if (processes.first()) {
    by_rank = IsReadByRank(directory, options) ? "yes" : "";
  }
  REPRISE_ASSIGN(const std::vector<std::string> all, processes.Exchange(by_rank));
  return processes.Agree(all.front().empty() ? Status()
                                             : StoreOwnShare(directory, options, processes));
}

}  // namespace reprise
