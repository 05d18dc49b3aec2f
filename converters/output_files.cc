#include "converters/output_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/checksums.h"
#include "core/output_kind.h"
#include "et_schema/io.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> Exists(const std::string& path) {
  return UsageError(fmt::format("{} exists; give --force to replace it", path));
}

}  // namespace

Result<OutputFiles> OutputFiles::Directory(const std::string& directory, const std::string& name,
                                           bool force) {
  REPRISE_TRY(CheckReplaceable(directory, OutputKind::kTraceSet, force));
  OutputFiles out;
  out.directory_ = fs::path(directory).lexically_normal().string();
  while (out.directory_.size() > 1 && out.directory_.ends_with('/')) {
    out.directory_.pop_back();
  }
  out.name_ = name;
  REPRISE_ASSIGN(out.temporary_, TemporaryOutput::Directory(directory));
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
  return Finish();
}

Status OutputFiles::Publish(const RankClasses& classes) {
  REPRISE_TRY(classes.Write(temporary_->path()));
  return Finish();
}

Status OutputFiles::Finish() {
  REPRISE_TRY(WriteChecksums(temporary_->path(), OutputKind::kTraceSet));
  return temporary_->Publish([](const std::string& kept) { return !IsTraceSetFile(kept); });
}

}  // namespace reprise
