#include "report/stored_analysis.h"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/checksums.h"
#include "core/output_kind.h"
#include "core/stored_values.h"
#include "core/temporary_output.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/stored_enums.h"

namespace reprise {
namespace {

// A file that was read, or the program: another one is not of this size and time.
struct FileState {
  std::string name;
  std::int64_t bytes = 0, modified_ns = 0;
};

// What an analysis is of.
struct Origin {
  FileState program;
  std::vector<FileState> files;
  bool rank_by_rank = false;
  HtmlLimits limits;
};

std::string PathIn(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

std::optional<FileState> StateOf(const std::string& path) {
  struct stat state = {};
  if (stat(path.c_str(), &state) != 0) {
    return std::nullopt;
  }
  return FileState{
      std::filesystem::path(path).filename().string(), state.st_size,
      std::int64_t{state.st_mtim.tv_sec} * 1'000'000'000 + std::int64_t{state.st_mtim.tv_nsec}};
}

// Nothing for a run that is small, that may still change, or that lacks a file.
std::optional<Origin> OriginOf(RankSizes& sizes, const AnalysisBasis& basis) {
  const std::string& directory = sizes.directory();
  const Result<Checksums> checksums = Checksums::Read(directory);
  const auto program = StateOf("/proc/self/exe");
  if (!checksums || !checksums->known() || !program) {
    return std::nullopt;
  }
  Origin origin{.program = *program, .files = {}, .limits = basis.limits};
  std::vector<std::string> names = {kChecksumsFile};
  for (const auto& [name, unused] : checksums->sums()) {
    names.push_back(name);
  }
  std::vector<std::int32_t> ranks;
  for (const std::string& name : names) {
    const auto state = StateOf(PathIn(directory, name));
    if (!state) {
      return std::nullopt;
    }
    if (name.starts_with("rank")) {
      ranks.push_back(static_cast<std::int32_t>(ranks.size()));
    }
    origin.files.push_back(*state);
  }
  const std::int64_t bytes = sizes.BytesOf(ranks);
  origin.rank_by_rank = !FitsInMemory(bytes, basis.memory_bytes);
  return bytes >= basis.least_bytes ? std::optional(std::move(origin)) : std::nullopt;
}

// visit(member) for all but the manifest, which is a file of the run, and the verdict.
template <typename AReport, typename Visit>
void VisitReport(AReport& report, Visit& visit) {
  VisitFields(report, [&visit](auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (!std::is_same_v<Member, RunManifest> && !std::is_same_v<Member, Verdict>) {
      visit(member);
    }
  });
}

}  // namespace

StoredAnalysis::StoredAnalysis(RankSizes& sizes, const AnalysisBasis& basis)
    : directory_(sizes.directory()) {
  if (const auto origin = OriginOf(sizes, basis)) {
    ValueWriter write(origin_);
    write(*origin);
  }
}

std::optional<Analysis> StoredAnalysis::Read() const {
  const std::string path = PathIn(directory_, kStoredAnalysisFile);
  std::error_code error;
  if (origin_.empty() || !std::filesystem::is_regular_file(path, error)) {
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  std::string begin(origin_.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  Result<RunManifest> manifest = ReadManifest(directory_);
  if (!file || begin != origin_ || !manifest) {
    return std::nullopt;
  }
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ValueReader read(bytes);
  Analysis analysis;
  VisitReport(analysis.report, read);
  read(analysis.page);
  if (!read.AtEnd()) {
    return std::nullopt;
  }
  analysis.report.manifest = std::move(*manifest);
  return analysis;
}

void StoredAnalysis::Write(const Analysis& analysis) const {
  // Times of files are times of day.
  if (origin_.empty() || analysis.report.manifest.provenance != Name(Provenance::kFull)) {
    return;
  }
  std::string bytes = origin_;
  ValueWriter write(bytes);
  VisitReport(analysis.report, write);
  write(analysis.page);
  Result<TemporaryOutput> draft = TemporaryOutput::File(PathIn(directory_, kStoredAnalysisFile));
  if (!draft) {
    return;
  }
  std::ofstream file(draft->path(), std::ios::binary);
  file << bytes;
  file.close();
  if (file) {
    (void)draft->Publish();
  }
}

}  // namespace reprise
