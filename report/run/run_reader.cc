#include "report/run/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "core/checksums.h"
#include "core/parallel.h"
#include "core/sqlite/database.h"
#include "core/text.h"
#include "report/run/memory_need.h"
#include "report/run/rank_reader.h"
#include "report/run/schema.h"

namespace reprise {
namespace {

bool NamesARank(const std::string& text) { return text.starts_with("rank "); }

// What was found of one rank.
struct RankPart {
  std::optional<RankData> data;  // none: there is no such file, or `status` says why
  std::vector<std::string> notes;
  Status status;
};

// Where ranks are read from.
struct RanksOnDisk {
  const std::string& directory;
  const Checksums& checksums;
  const std::vector<std::int32_t>& merged;  // that run.sqlite has
};

// Empty: it is not known.
std::string SumOf(const Checksums& checksums, const std::string& path) {
  const auto found = checksums.sums().find(std::filesystem::path(path).filename());
  return found == checksums.sums().end() ? "" : found->second;
}

// The rank's own file where it is there, run.sqlite's rows where it is not, else nothing.
Status ReadRank(const RanksOnDisk& from, int rank, RankContent content, RankPart& part) {
  const std::string& directory = from.directory;
  if (std::filesystem::exists(RankPath(directory, rank))) {
    REPRISE_ASSIGN(part.data,
                   ReadRankFile(directory, rank, content,
                                SumOf(from.checksums, RankPath(directory, rank)), part.notes));
  } else if (std::ranges::find(from.merged, rank) != from.merged.end()) {
    REPRISE_ASSIGN(part.data, ReadRankFromMerged(directory, rank, content));
    part.notes.push_back(
        fmt::format("rank {0}: rank{0}.sqlite is missing; run.sqlite has its {1}", rank,
                    part.data->nodes.empty() ? "steps" : "medians over the iterations"));
  } else {
    part.notes.push_back(fmt::format("rank {}: rank{}.sqlite is missing", rank, rank));
  }
  return {};
}

// Ranks have files of their own: as many as there are cores are read at a time. Of several damaged
// files the first one's is reported.
Result<std::vector<RankPart>> ReadParts(const RanksOnDisk& from,
                                        std::span<const std::int32_t> ranks, RankContent content) {
  std::vector<RankPart> parts(ranks.size());
  std::atomic<std::size_t> first_failed = parts.size();
  ForEachInParallel(parts.size(), [&](std::size_t i) {
    if (i > first_failed) {
      return;
    }
    parts[i].status = ReadRank(from, ranks[i], content, parts[i]);
    if (!parts[i].status) {
      std::size_t first = first_failed;
      while (i < first && !first_failed.compare_exchange_weak(first, i)) {
      }
    }
  });
  for (RankPart& part : parts) {
    REPRISE_TRY(std::move(part.status));
  }
  return parts;
}

// What is true of all ranks alike is said once.
void AddNotes(std::vector<std::string>& of_rank, std::vector<std::string>& notes) {
  for (std::string& note : of_rank) {
    if (NamesARank(note) || std::ranges::find(notes, note) == notes.end()) {
      notes.push_back(std::move(note));
    }
  }
}

// One more than the highest rank that has a file; 0 if none has.
std::int32_t CountRanks(const std::string& directory) {
  constexpr std::string_view kPrefix = "rank";
  constexpr std::string_view kSuffix = ".sqlite";
  std::int32_t ranks = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
      continue;
    }
    const std::string_view number = std::string_view(name).substr(kPrefix.size());
    const std::int32_t rank =
        ParseNumber<std::int32_t>(number.substr(0, number.size() - kSuffix.size())).value_or(-1);
    if (rank >= 0 && rank < kMaxRanks) {
      ranks = std::max(ranks, rank + 1);
    }
  }
  return ranks;
}

// Why a run ended early and which rank was first, as far as its ranks could record it.
void AddNotesOnEnd(RunData& run) {
  std::string reason;
  std::vector<std::string> silent;
  for (const RankData& rank : run.ranks) {
    const std::string& told = rank.facts.ended_by;
    if (told.empty()) {
      if (!rank.closed) {
        silent.push_back(std::to_string(rank.rank));
      }
    } else if (reason.empty() || (!NamesARank(reason) && NamesARank(told))) {
      // The rank at fault leaves its own number out, the others name it.
      reason = told;
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

// What its writer left out on purpose.
void AddNoteOnProvenance(RunData& run) {
  if (run.manifest.provenance == Name(Provenance::kNone)) {
    run.notes.emplace_back(
        "without the command line, paths, names of hosts and times of day: those of runs of "
        "anonymized sets are not kept, but with --provenance full");
  }
}

// The names of the run's files that are there: those of ranks may be left out, run.sqlite has the
// rest.
std::vector<std::string> RunFiles(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == "manifest.json" || name == "run.sqlite" ||
        (name.starts_with("rank") && name.ends_with(".sqlite"))) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);  // rank5 before rank21
  });
  return names;
}

// Of a database without a checksum.
Status CheckStructure(const std::string& path) {
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_ASSIGN(Statement check, database.Prepare("PRAGMA integrity_check(1)"));
  REPRISE_ASSIGN(const bool any, check.Next());
  if (any && check.View(0) != "ok") {
    return BadInput(fmt::format("{}: damaged: {}; restore it from a copy", path, check.Text(0)));
  }
  return {};
}

// The run's checksums, if it has any: they hold.
Result<Checksums> VerifyRun(const std::string& directory) {
  REPRISE_ASSIGN(Checksums checksums, Checksums::Read(directory));
  const std::vector<std::string> names = RunFiles(directory);
  std::vector<Status> outcomes(names.size());
  ForEachInParallel(names.size(), [&](std::size_t i) {
    if (checksums.known()) {
      outcomes[i] = checksums.Verify(names[i]);
    } else if (names[i] != "manifest.json") {
      outcomes[i] = CheckStructure((std::filesystem::path(directory) / names[i]).string());
    }
  });
  for (Status& outcome : outcomes) {
    REPRISE_TRY(std::move(outcome));
  }
  return checksums;
}

}  // namespace

Result<RunReader> RunReader::Open(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return BadInput(directory + ": not a directory; a run is a directory written by replay");
  }
  RunReader reader;
  reader.directory_ = directory;
  REPRISE_ASSIGN(reader.checksums_, VerifyRun(directory));
  if (std::filesystem::exists(ManifestPath(directory), error)) {
    REPRISE_ASSIGN(reader.manifest_, ReadManifest(directory));
  } else {
    reader.manifest_.world_size = CountRanks(directory);
    if (reader.manifest_.world_size == 0) {
      return BadInput(directory + ": not a run (no manifest.json and no rank's file in it)");
    }
    reader.notes_.push_back(
        fmt::format("manifest.json is missing: {} ranks, as far as their files say",
                    reader.manifest_.world_size));
  }
  REPRISE_ASSIGN(reader.merged_ranks_, RanksInMerged(directory));
  if (!reader.manifest_.complete) {
    reader.notes_.emplace_back("not merged: the run was killed, failed, or is still going on");
  } else if (!reader.checksums_.known()) {
    reader.notes_.emplace_back("no checksums.xxh128: only SQLite's own checks were made");
  }
  return reader;
}

std::vector<std::int32_t> RunReader::AllRanks() const {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(manifest_.world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Result<RunData> RunReader::ReadAll(RankContent content) {
  RunData run{.manifest = manifest_, .ranks = {}, .notes = notes_};
  REPRISE_ASSIGN(std::vector<RankPart> parts,
                 ReadParts({directory_, checksums_, merged_ranks_}, AllRanks(), content));
  for (RankPart& part : parts) {
    AddNotes(part.notes, run.notes);
    if (part.data) {
      run.ranks.push_back(std::move(*part.data));
    }
  }
  if (run.ranks.empty()) {
    return BadInput(directory_ + ": no rank's file in it (rank0.sqlite, ...)");
  }
  if (!manifest_.complete) {
    AddNotesOnEnd(run);
  }
  AddNoteOnProvenance(run);
  clocks_.emplace(run);
  RelateClocks(run, *clocks_);
  return run;
}

std::string RunReader::VerifiedChecksum(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(path, error) ? SumOf(checksums_, path) : "";
}

Result<RunData> RunReader::Read(std::span<const std::int32_t> ranks, RankContent content) const {
  REPRISE_ASSIGN(RunData run, ReadUnmoved(ranks, content));
  for (RankData& rank : run.ranks) {
    clocks_->Move(rank);
  }
  return run;
}

Result<RunData> RunReader::ReadUnmoved(std::span<const std::int32_t> ranks,
                                       RankContent content) const {
  REPRISE_ASSIGN(std::vector<RankPart> parts,
                 ReadParts({directory_, checksums_, merged_ranks_}, ranks, content));
  RunData run{.manifest = manifest_, .ranks = {}, .notes = {}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].data) {
      return BadInput(fmt::format("{}: the file of rank {} went away while the run was read",
                                  directory_, ranks[i]));
    }
    run.ranks.push_back(std::move(*parts[i].data));
  }
  return run;
}

Result<RunData> ReadRun(const std::string& directory) {
  REPRISE_ASSIGN(RunReader reader, RunReader::Open(directory));
  RankSizes sizes(directory);
  REPRISE_TRY(CheckMemory(sizes, reader.AllRanks(), MachineMemoryBytes()));
  return reader.ReadAll();
}

}  // namespace reprise
