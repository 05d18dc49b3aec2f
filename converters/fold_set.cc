#include "converters/fold_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/checksums.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/folded_set.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Groups, and what says where the set comes from.
Status CopyOthers(const TraceSet& set, const std::string& directory) {
  std::vector<std::string> names = set.FileNames();
  names.emplace_back(kAnonymizedFile);
  const std::vector<std::string> of_ranks = set.RankFileNames();
  for (const std::string& name : names) {
    const fs::path from = fs::path(set.directory) / name;
    std::error_code error;
    if (std::ranges::find(of_ranks, name) != of_ranks.end() || !fs::is_regular_file(from, error)) {
      continue;
    }
    if (!fs::copy_file(from, fs::path(directory) / name, error)) {
      return EnvironmentError(
          fmt::format("{}: cannot be copied: {}", from.string(), error.message()));
    }
  }
  return {};
}

}  // namespace

bool IsOwnSet(const std::string& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return false;
  }
  if (FoldedSet::Present(directory) || RankClasses::Present(directory)) {
    return true;
  }
  const Result<TraceSet> set = TraceSet::OpenPresent(directory);
  if (!set || set->files.empty()) {
    return false;
  }
  const auto reader = EtReader::Open(set->files.begin()->second);
  return reader && (*reader)->native();
}

Result<FoldSummary> FoldSet(const FoldRequest& request) {
  REPRISE_TRY(CheckIsAnother(request.set, request.directory));
  REPRISE_TRY(CheckReplaceable(request.directory, OutputKind::kTraceSet, request.force));
  REPRISE_ASSIGN(TraceSet set, TraceSet::OpenPresent(request.set));
  REPRISE_TRY(set.Verify());
  REPRISE_ASSIGN(TemporaryOutput output, TemporaryOutput::Directory(request.directory));
  const std::string& name = request.name.empty() ? set.name : request.name;
  FoldSummary summary;
  if (request.expand) {
    REPRISE_ASSIGN(summary, ExpandInto(set, output.path(), name));
  } else {
    REPRISE_ASSIGN(summary, FoldInto(set, output.path(), name));
  }
  REPRISE_TRY(CopyOthers(set, output.path()));
  REPRISE_TRY(WriteChecksums(output.path(), OutputKind::kTraceSet));
  REPRISE_TRY(output.Publish([](const std::string& kept) { return !IsTraceSetFile(kept); }));
  return summary;
}

}  // namespace reprise
