// Merging the files of a run's ranks.
#include <fmt/format.h>

#include <filesystem>
#include <numeric>
#include <system_error>
#include <vector>

#include "core/checksums.h"
#include "core/sqlite/database.h"
#include "core/temporary_output.h"
#include "core/text.h"
#include "report/run/memory_need.h"
#include "report/run/run.h"
#include "report/run/schema.h"

namespace reprise {
namespace {

// An SQL string literal.
std::string Quote(const std::string& text) { return SingleQuoted(text, "''"); }

Status MergeRank(Database& merged, const std::string& directory, const RunManifest& manifest,
                 int rank, bool in_full) {
  const std::string path = RankPath(directory, rank);
  if (!std::filesystem::exists(path)) {
    return BadInput(
        fmt::format("{}: missing, although the manifest says {} ranks", path, manifest.world_size));
  }
  {
    // A damaged file is reported by its own name, not by that of run.sqlite.
    REPRISE_TRY(Database::Open(path, Database::Access::kRead));
  }
  REPRISE_TRY(merged.Execute("ATTACH " + Quote(path) + " AS part"));
  std::string sql = "BEGIN;" + MergeSql(in_full);
  const auto device = static_cast<std::size_t>(rank);
  if (device < manifest.devices.size()) {
    sql += fmt::format("UPDATE main.ranks SET device={} WHERE rank={} AND device='';",
                       Quote(manifest.devices[device]), rank);
  }
  if (const Status inserted = merged.Execute(sql + "COMMIT"); !inserted) {
    return Fail(inserted.error().kind,
                fmt::format("merging {}: {}", path, inserted.error().message));
  }
  return merged.Execute("DETACH part");
}

}  // namespace

Status MergeRun(const std::string& directory, int most_ranks_in_full) {
  REPRISE_ASSIGN(RunManifest manifest, ReadManifest(directory));
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(manifest.world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  const bool in_full = manifest.world_size <= most_ranks_in_full &&
                       RankSizes(directory).BytesOf(ranks) < kLargeRunBytes;
  const std::string path = MergedPath(directory);
  REPRISE_ASSIGN(TemporaryOutput draft, TemporaryOutput::File(path));
  {
    REPRISE_ASSIGN(Database merged, Database::Open(draft.path(), Database::Access::kCreate));
    // A draft: if it is lost, it is made again.
    REPRISE_TRY(merged.Execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"));
    REPRISE_TRY(merged.Execute("BEGIN;" + MergedSchema() + "COMMIT;"));
    for (const int rank : ranks) {
      REPRISE_TRY(MergeRank(merged, directory, manifest, rank, in_full));
    }
    REPRISE_TRY(merged.Execute("CREATE INDEX nodes_by_id ON nodes(rank, node_id)"));
    REPRISE_TRY(merged.Close());
  }
  REPRISE_TRY(draft.Publish());
  manifest.complete = true;
  REPRISE_TRY(WriteManifest(directory, manifest));
  std::vector<std::string> names = {std::filesystem::path(ManifestPath(directory)).filename(),
                                    std::filesystem::path(path).filename()};
  for (const int rank : ranks) {
    names.push_back(std::filesystem::path(RankPath(directory, rank)).filename());
  }
  return WriteChecksums(directory, OutputKind::kRun, std::move(names));
}

}  // namespace reprise
