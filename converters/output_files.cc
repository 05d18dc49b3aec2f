#include "converters/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/checksums.h"
#include "core/output_kind.h"
#include "core/parallel.h"
#include "et_schema/fold.h"
#include "et_schema/io.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> Exists(const std::string& path) {
  return UsageError(fmt::format("{} exists; give --force to replace it", path));
}

std::string WithoutSlash(const std::string& directory) {
  std::string path = fs::path(directory).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

}  // namespace

Result<OutputFiles> OutputFiles::Directory(const std::string& directory, const std::string& name,
                                           bool force, Processes& processes) {
  OutputFiles out;
  out.directory_ = WithoutSlash(directory);
  out.name_ = name;
  Result<std::string> path;
  if (processes.first()) {
    path = [&]() -> Result<std::string> {
      REPRISE_TRY(CheckReplaceable(directory, OutputKind::kTraceSet, force));
      REPRISE_ASSIGN(out.temporary_, TemporaryOutput::Directory(directory));
      return out.temporary_->path();
    }();
  }
  REPRISE_ASSIGN(const std::vector<std::string> paths, processes.Exchange(path));
  if (!processes.first()) {
    REPRISE_ASSIGN(out.temporary_, TemporaryOutput::Joined(paths.front()));
  }
  return out;
}

Result<OutputFiles> OutputFiles::Directory(const ConvertRequest& request, const std::string& name,
                                           Processes& processes) {
  REPRISE_ASSIGN(OutputFiles out,
                 Directory(request.output_directory, request.name.empty() ? name : request.name,
                           request.force, processes));
  out.fold_ = request.fold;
  return out;
}

Result<OutputFiles> OutputFiles::Directory(const ConvertRequest& request, const std::string& name,
                                           const ResumableJob& job,
                                           const std::vector<std::int32_t>& ranks,
                                           Processes& processes) {
  if (!request.resume) {
    return Directory(request, name, processes);
  }
  REPRISE_ASSIGN(OutputFiles out,
                 Resumable(request.output_directory, request.name.empty() ? name : request.name,
                           request.force, false, job, ranks, processes));
  out.fold_ = request.fold;
  return out;
}

Result<OutputFiles> OutputFiles::Resumable(const std::string& directory, const std::string& name,
                                           bool force, bool folded, const ResumableJob& job,
                                           const std::vector<std::int32_t>& ranks,
                                           Processes& processes) {
  OutputFiles out;
  out.directory_ = WithoutSlash(directory);
  out.name_ = name;
  out.folded_ = folded;
  const auto replaceable = [&] {
    return processes.first() ? CheckReplaceable(directory, OutputKind::kTraceSet, force) : Status();
  };
  REPRISE_TRY(processes.Agree(replaceable()));
  std::vector<std::string> names;
  names.reserve(ranks.size());
  for (const std::int32_t rank : ranks) {
    names.push_back(out.NameOf(rank));
  }
  REPRISE_ASSIGN(out.kept_, KeptWork::Open(directory, job, names, processes));
  // Another job may have published it meanwhile.
  const Status still = replaceable();
  if (!still && !out.kept_->found()) {
    out.kept_->Remove();
  }
  REPRISE_TRY(processes.Agree(still));
  out.temporary_ = TemporaryOutput::Kept(out.kept_->SetDirectory(), directory);
  return out;
}

Result<OutputFiles> OutputFiles::FoldedDirectory(const std::string& directory,
                                                 const std::string& name, bool force) {
  REPRISE_ASSIGN(OutputFiles out, Directory(directory, name, force));
  out.folded_ = true;
  return out;
}

Result<OutputFiles> OutputFiles::OneFile(const std::string& path, bool force) {
  std::error_code error;
  if (!force && fs::exists(fs::symlink_status(path, error))) {
    return Exists(path);
  }
  OutputFiles out;
  out.file_ = path;
  return out;
}

std::string OutputFiles::NameOf(std::int32_t rank) const {
  return fmt::format("{}.{}{}.et", name_, folded_ ? "class" : "", rank);
}

std::string OutputFiles::Temporary(std::int32_t rank) const {
  return !file_.empty() ? file_
         : kept_        ? kept_->PartPath(NameOf(rank))
                        : (fs::path(temporary_->path()) / NameOf(rank)).string();
}

std::string OutputFiles::TemporaryNote(const std::string& name) const {
  return (fs::path(temporary_->path()) / name).string();
}

std::string OutputFiles::Final(std::int32_t rank) const {
  return file_.empty() ? (fs::path(directory_) / NameOf(rank)).string() : file_;
}

Result<ConvertedRank> OutputFiles::WriteRank(const std::vector<Node>& nodes,
                                             const TraceMetadata& metadata) const {
  REPRISE_ASSIGN(const auto writer, EtWriter::Create(Temporary(metadata.rank), metadata));
  ConvertedRank out{.rank = metadata.rank, .path = Final(metadata.rank), .nodes = nodes.size()};
  for (const Node& node : nodes) {
    out.edges += node.deps.size();
    out.transfers += node.comm ? 1 : 0;
    REPRISE_TRY(writer->Write(node));
  }
  REPRISE_TRY(writer->Close());
  return out;
}

Status OutputFiles::Publish(const std::map<std::string, ProcessGroup>& groups) {
  if (!temporary_) {
    return {};  // the writer has renamed it already
  }
  REPRISE_TRY(WriteGroups(temporary_->path(), groups));
  REPRISE_TRY(Fold());
  return Finish();
}

Status OutputFiles::PublishTogether(const Status& mine, std::vector<ConvertedRank>& ranks,
                                    const std::map<std::string, ProcessGroup>& groups,
                                    Processes& processes) {
  if (!temporary_) {
    return processes.Agree(mine);
  }
  struct WrittenRank {
    ConvertedRank rank;
    std::string file, sum;
  };
  std::vector<WrittenRank> written(ranks.size());
  const ItemRange own = OwnShare(processes, ranks.size());
  std::vector<Status> outcomes(own.size(), mine);
  ForEachInParallel(own.size(), [&](std::size_t i) {
    WrittenRank& to = written[own.begin + i];
    to.rank = std::move(ranks[own.begin + i]);
    to.file = NameOf(to.rank.rank);
    if (!mine) {
      return;
    }
    if (Result<std::string> sum = ChecksumOfRank(to.rank.rank)) {
      to.sum = *std::move(sum);
    } else {
      outcomes[i] = tl::unexpected<Error>(sum.error());
    }
  });
  const auto failed = std::ranges::find_if(outcomes, [](const Status& of) { return !of; });
  temporary_->Leave();
  if (kept_ && !processes.first()) {
    kept_->Leave();
  }
  REPRISE_TRY(CompleteShares(processes, failed == outcomes.end() ? mine : *failed, written));
  std::map<std::string, std::string> sums;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i] = std::move(written[i].rank);
    sums.emplace(std::move(written[i].file), std::move(written[i].sum));
  }
  return processes.Agree([&]() -> Status {
    if (!processes.first()) {
      return {};
    }
    REPRISE_TRY(WriteGroups(temporary_->path(), groups));
    REPRISE_TRY(MoveKept(sums));
    REPRISE_TRY(Fold());
    return Finish(fold_ ? std::map<std::string, std::string>() : sums);
  }());
}

Status OutputFiles::Publish(const RankClasses& classes) {
  REPRISE_TRY(classes.Write(temporary_->path()));
  std::map<std::string, std::string> sums;
  for (std::size_t i = 0; kept_ && i < classes.classes().size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    REPRISE_ASSIGN(sums[NameOf(number)], ChecksumOfRank(number));
  }
  REPRISE_TRY(MoveKept(sums));
  return Finish(sums);
}

std::optional<ResumedRanks> OutputFiles::Resumed(const std::vector<ConvertedRank>& ranks) const {
  if (!kept_) {
    return std::nullopt;
  }
  const auto taken_up =
      static_cast<std::size_t>(std::ranges::count(ranks, true, &ConvertedRank::taken_up));
  return ResumedRanks{kept_->found(), taken_up, ranks.size() - taken_up};
}

Result<std::string> OutputFiles::ChecksumOfRank(std::int32_t rank) const {
  const std::string known = kept_ ? kept_->SumOf(NameOf(rank)) : std::string();
  return known.empty() ? ChecksumOf(Temporary(rank)) : known;
}

// Checksums come before the files: what is ended on the way names those that are missing.
Status OutputFiles::MoveKept(const std::map<std::string, std::string>& sums) {
  if (!kept_) {
    return {};
  }
  REPRISE_TRY(WriteChecksums(temporary_->path(), OutputKind::kTraceSet, {}, sums));
  return kept_->MoveParts(sums);
}

Status OutputFiles::Fold() {
  if (!fold_) {
    return {};
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(temporary_->path()));
  REPRISE_TRY(FoldInto(set, temporary_->path(), name_));
  for (const auto& [rank, path] : set.files) {
    std::error_code error;
    if (!fs::remove(path, error)) {
      return EnvironmentError(fmt::format("{}: cannot be removed: {}", path, error.message()));
    }
  }
  return {};
}

Status OutputFiles::Finish(const std::map<std::string, std::string>& known_sums) {
  REPRISE_TRY(WriteChecksums(temporary_->path(), OutputKind::kTraceSet, {}, known_sums));
  REPRISE_TRY(temporary_->Publish([](const std::string& kept) { return !IsTraceSetFile(kept); }));
  if (kept_) {
    kept_->Remove();
  }
  return {};
}

}  // namespace reprise
