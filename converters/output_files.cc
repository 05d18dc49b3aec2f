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

}  // namespace

Result<OutputFiles> OutputFiles::Directory(const std::string& directory, const std::string& name,
                                           bool force, Processes& processes) {
  OutputFiles out;
  out.directory_ = fs::path(directory).lexically_normal().string();
  while (out.directory_.size() > 1 && out.directory_.ends_with('/')) {
    out.directory_.pop_back();
  }
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
  return file_.empty() ? (fs::path(temporary_->path()) / NameOf(rank)).string() : file_;
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
    if (Result<std::string> sum = ChecksumOf(Temporary(to.rank.rank))) {
      to.sum = *std::move(sum);
    } else {
      outcomes[i] = tl::unexpected<Error>(sum.error());
    }
  });
  const auto failed = std::ranges::find_if(outcomes, [](const Status& of) { return !of; });
  temporary_->Leave();
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
    REPRISE_TRY(Fold());
    return Finish(fold_ ? std::map<std::string, std::string>() : sums);
  }());
}

Status OutputFiles::Publish(const RankClasses& classes) {
  REPRISE_TRY(classes.Write(temporary_->path()));
  return Finish();
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
  return temporary_->Publish([](const std::string& kept) { return !IsTraceSetFile(kept); });
}

}  // namespace reprise
