// A run as a whole: merging its ranks' files and reading them back.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

#include "core/parallel.h"
#include "run/clocks.h"
#include "run/database.h"
#include "run/manifest.h"
#include "run/memory_need.h"
#include "run/rank_reader.h"
#include "run/run.h"
#include "run/schema.h"

namespace reprise {
namespace {

// `text` as an SQL string literal.
std::string Quote(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') {
      out += c;
    }
  }
  return out + "'";
}

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
  std::string sql = "BEGIN;";
  std::span<const std::string_view> tables = kRankTables;
  if (in_full) {
    sql += "INSERT INTO main.nodes SELECT * FROM part.nodes;";
    tables = kSharedTables;
  }
  for (const std::string_view table : tables) {
    sql += fmt::format("INSERT INTO main.{0} SELECT * FROM part.{0};", table);
  }
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

bool NamesARank(const std::string& text) { return text.starts_with("rank "); }

// What was found of one rank.
struct RankPart {
  std::optional<RankData> data;  // none: there is no such file, or `status` says why
  std::vector<std::string> notes;
  Status status;
};

// The rank's own file where it is there, run.sqlite's rows where it is not, else nothing.
Status ReadRank(const std::string& directory, int rank,
                const std::vector<std::int32_t>& merged_ranks, RankPart& part) {
  if (std::filesystem::exists(RankPath(directory, rank))) {
    REPRISE_ASSIGN(part.data, ReadRankFile(directory, rank, part.notes));
  } else if (std::find(merged_ranks.begin(), merged_ranks.end(), rank) != merged_ranks.end()) {
    REPRISE_ASSIGN(part.data, ReadRankFromMerged(directory, rank));
    part.notes.push_back(
        fmt::format("rank {0}: rank{0}.sqlite is missing; run.sqlite has its {1}", rank,
                    part.data->nodes.empty() ? "steps" : "medians over the iterations"));
  } else {
    part.notes.push_back(fmt::format("rank {}: rank{}.sqlite is missing", rank, rank));
  }
  return {};
}

// Ranks have files of their own: as many as there are cores are read at a time. Notes come by rank,
// and of several damaged files it is the lowest rank's that is told.
Status ReadRanks(const std::string& directory, const std::vector<std::int32_t>& merged_ranks,
                 RunData& run) {
  std::vector<RankPart> parts(static_cast<std::size_t>(run.manifest.world_size));
  std::atomic<std::size_t> first_failed = parts.size();
  ForEachInParallel(parts.size(), [&](std::size_t rank) {
    if (rank > first_failed) {
      return;
    }
    parts[rank].status = ReadRank(directory, static_cast<int>(rank), merged_ranks, parts[rank]);
    if (!parts[rank].status) {
      std::size_t first = first_failed;
      while (rank < first && !first_failed.compare_exchange_weak(first, rank)) {
      }
    }
  });
  for (RankPart& part : parts) {
    REPRISE_TRY(part.status);
    for (std::string& note : part.notes) {
      // What is true of all ranks alike is said once.
      if (NamesARank(note) ||
          std::find(run.notes.begin(), run.notes.end(), note) == run.notes.end()) {
        run.notes.push_back(std::move(note));
      }
    }
    if (part.data) {
      run.ranks.push_back(std::move(*part.data));
    }
  }
  return {};
}

// One more than the highest rank that has a file; 0 if none has.
std::int32_t RanksOnDisk(const std::string& directory) {
  constexpr std::string_view kPrefix = "rank";
  constexpr std::string_view kSuffix = ".sqlite";
  std::int32_t ranks = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::int32_t rank = -1;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
      continue;
    }
    const char* last = name.data() + name.size() - kSuffix.size();
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), last, rank);
    if (parsed.ec == std::errc() && parsed.ptr == last && rank >= 0 && rank < kMostRanks) {
      ranks = std::max(ranks, rank + 1);
    }
  }
  return ranks;
}

// Why a run ended early and who was first, as far as its ranks could still say.
void AddNotesOnEnd(RunData& run) {
  std::string reason;
  std::vector<std::string> silent;
  for (const RankData& rank : run.ranks) {
    const auto told = rank.facts.find(kFactEndedBy);
    if (told == rank.facts.end()) {
      if (!rank.closed) {
        silent.push_back(std::to_string(rank.rank));
      }
    } else if (reason.empty() || (!NamesARank(reason) && NamesARank(told->second))) {
      // The rank at fault leaves its own number out, the others name it.
      reason = told->second;
      if (!NamesARank(reason) && run.ranks.size() > 1) {
        reason += fmt::format(" (says rank {})", rank.rank);
      }
    }
  }
  if (reason.empty()) {
    return;  // all still at work, or killed together
  }
  // A signal is sent to all ranks when one has gone: it is not the reason.
  if (silent.empty() || reason.find("ended by SIG") == std::string::npos) {
    run.notes.push_back("ended early: " + reason);
    return;
  }
  run.notes.push_back(
      fmt::format("ended early: rank{} {} first, killed, crashed or stopped (no end in {} file); "
                  "the others: {}",
                  silent.size() > 1 ? "s" : "", fmt::join(silent, ", "),
                  silent.size() > 1 ? "their" : "its", reason));
}

}  // namespace

Status MergeRun(const std::string& directory, int most_ranks_in_full) {
  REPRISE_ASSIGN(RunManifest manifest, ReadManifest(directory));
  const std::string path = MergedPath(directory);
  const std::string draft = path + ".tmp";
  std::error_code error;
  std::filesystem::remove(draft, error);
  {
    REPRISE_ASSIGN(Database merged, Database::Open(draft, Database::Access::kCreate));
    // A draft: if it is lost, it is made again.
    REPRISE_TRY(merged.Execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"));
    REPRISE_TRY(merged.Execute("BEGIN;" + MergedSchema() + "COMMIT;"));
    for (int rank = 0; rank < manifest.world_size; ++rank) {
      REPRISE_TRY(
          MergeRank(merged, directory, manifest, rank, manifest.world_size <= most_ranks_in_full));
    }
    REPRISE_TRY(merged.Execute("CREATE INDEX nodes_by_id ON nodes(rank, node_id)"));
    REPRISE_TRY(merged.Close());
  }
  std::filesystem::rename(draft, path, error);
  if (error) {
    return EnvironmentError(path + ": " + error.message());
  }
  manifest.complete = true;
  return WriteManifest(directory, manifest);
}

Result<RunData> ReadRun(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return BadInput(directory + ": not a directory; a run is a directory written by replay");
  }
  RunData run;
  if (std::filesystem::exists(ManifestPath(directory), error)) {
    REPRISE_ASSIGN(run.manifest, ReadManifest(directory));
  } else {
    run.manifest.world_size = RanksOnDisk(directory);
    if (run.manifest.world_size == 0) {
      return BadInput(directory + ": not a run (no manifest.json and no rank's file in it)");
    }
    run.notes.push_back(fmt::format("manifest.json is missing: {} ranks, as far as their files say",
                                    run.manifest.world_size));
  }
  REPRISE_TRY(CheckMemory(directory, run.manifest.world_size, MachineMemoryBytes()));
  REPRISE_ASSIGN(const std::vector<std::int32_t> merged_ranks, RanksInMerged(directory));
  if (!run.manifest.complete) {
    run.notes.emplace_back("not merged: the run was killed, failed, or is still going on");
  }
  REPRISE_TRY(ReadRanks(directory, merged_ranks, run));
  if (run.ranks.empty()) {
    return BadInput(directory + ": no rank's file in it (rank0.sqlite, ...)");
  }
  if (!run.manifest.complete) {
    AddNotesOnEnd(run);
  }
  RelateClocks(run);
  return run;
}

}  // namespace reprise
