#include "converters/share/package/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "converters/share/anonymize/anonymize.h"
#include "converters/share/anonymize/keyed_hash.h"
#include "converters/share/package/compressed_pieces.h"
#include "core/file_descriptor.h"
#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/parse_json.h"
#include "core/temporary_output.h"
#include "core/version.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Where a file's bytes come from: a path, or text.
struct Content {
  std::string path;
  std::string text;
};

// Hands a content on in pieces; `add` returns a Status, and an error ends the reading.
template <typename Add>
Status ForEachPiece(const Content& content, const Add& add) {
  if (content.path.empty()) {
    return add(std::string_view(content.text));
  }
  REPRISE_ASSIGN(const OpenedInput input, OpenInput(content.path));
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  std::vector<char> buffer(kPiece);
  while (true) {
    const ssize_t got = ::read(input.descriptor.get(), buffer.data(), buffer.size());
    if (got < 0) {
      return BadInput(fmt::format("{}: cannot be read", content.path));
    }
    if (got == 0) {
      return {};
    }
    REPRISE_TRY(add(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
  }
}

Result<PackagedFile> Describe(const std::string& name, const Content& content) {
  PackagedFile file{.path = name};
  Sha256Stream sum;
  REPRISE_TRY(ForEachPiece(content, [&](std::string_view piece) -> Status {
    sum.Add(piece);
    file.bytes += piece.size();
    return {};
  }));
  file.sha256 = sum.Hex();
  return file;
}

class TarWriter {
 public:
  explicit TarWriter(CompressedPieces& pieces) : pieces_(pieces) {}

  Status Open() {
    archive_write_set_bytes_in_last_block(archive_.get(), 1);  // no zeros after the tar's own
    return archive_write_set_format_pax_restricted(archive_.get()) == ARCHIVE_OK &&
                   archive_write_open(archive_.get(), this, nullptr, AddPiece, nullptr) ==
                       ARCHIVE_OK
               ? Status{}
               : Failed();
  }

  // Owner, times and modes are private, and the same in all packages.
  Status Add(const std::string& name, std::uint64_t bytes, const Content& content) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                              archive_entry_free);
    constexpr int kMode = 0644;
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), kMode);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
    archive_entry_set_mtime(entry.get(), 0, 0);
    if (archive_write_header(archive_.get(), entry.get()) != ARCHIVE_OK) {
      return Failed();
    }
    std::uint64_t written = 0;
    REPRISE_TRY(ForEachPiece(content, [&](std::string_view piece) -> Status {
      written += piece.size();
      return archive_write_data(archive_.get(), piece.data(), piece.size()) ==
                     static_cast<la_ssize_t>(piece.size())
                 ? Status{}
                 : Failed();
    }));
    return written == bytes ? Status{}
                            : BadInput(fmt::format("{}: changed while it was packed", name));
  }

  Status Close() { return archive_write_close(archive_.get()) == ARCHIVE_OK ? Status{} : Failed(); }

 private:
  static la_ssize_t AddPiece(archive* /*of*/, void* self, const void* bytes, std::size_t size) {
    auto& writer = *static_cast<TarWriter*>(self);
    writer.added_ = writer.pieces_.Add({static_cast<const char*>(bytes), size});
    return writer.added_ ? static_cast<la_ssize_t>(size) : -1;
  }
  Status Failed() {
    REPRISE_TRY(added_);
    const char* why = archive_error_string(archive_.get());
    return EnvironmentError(fmt::format("a tar of the set: {}", why == nullptr ? "unknown" : why));
  }

  CompressedPieces& pieces_;
  Status added_;
  std::unique_ptr<archive, decltype(&archive_write_free)> archive_{archive_write_new(),
                                                                   &archive_write_free};
};

// Under which policy the set is, if `reprise anonymize` wrote it.
Status ReadNote(const fs::path& path, PackageManifest& manifest) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) {
    return {};
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path.string()));
  try {
    const nlohmann::json note = ParseJson<nlohmann::json>(text);
    manifest.policy = note.at("policy").at("name").get<std::string>();
    manifest.policy_sha256 = note.at("policy").at("sha256").get<std::string>();
    manifest.durations = note.at("durations").get<std::string>();
    manifest.shapes = note.at("shapes").get<std::string>();
  } catch (const nlohmann::json::exception& why) {
    return BadInput(fmt::format("{}: {}", path.string(), why.what()));
  }
  return {};
}

using Contents = std::vector<std::pair<std::string, Content>>;

Contents ListContents(const TraceSet& set, const PackRequest& request) {
  Contents contents;
  for (const char* name : {kAnonymizedFile, kChecksumsFile}) {
    const fs::path path = fs::path(set.directory) / name;
    if (std::error_code error; fs::is_regular_file(path, error)) {
      contents.push_back({name, {.path = path.string()}});
    }
  }
  for (const std::string& name : set.FileNames()) {
    contents.push_back({name, {.path = (fs::path(set.directory) / name).string()}});
  }
  if (!request.licence_file.empty()) {
    contents.push_back({kLicenceFile, {.path = request.licence_file}});
  }
  return contents;
}

std::vector<std::string> LeftOut(const std::string& directory, const PackageManifest& manifest) {
  std::vector<std::string> left_out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (std::none_of(manifest.files.begin(), manifest.files.end(),
                     [&](const PackagedFile& file) { return file.path == name; })) {
      left_out.push_back(name);
    }
  }
  std::sort(left_out.begin(), left_out.end());
  return left_out;
}

// A package is a file that replaces a file.
Status CheckOutput(const PackRequest& request) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(request.output, error);
  if (!fs::exists(status)) {
    return {};
  }
  if (!request.force) {
    return UsageError(fmt::format("{} exists; give --force to replace it", request.output));
  }
  const std::string magic = FirstBytes(request.output, kZstdMagic.size());
  return fs::is_regular_file(status) &&
                 (magic == kZstdMagic || fs::file_size(request.output, error) == 0)
             ? Status{}
             : UsageError(fmt::format("{} is no package; --force replaces a package only: choose "
                                      "another -o, or remove it yourself",
                                      request.output));
}

// A set that replay or validate would refuse is not packed.
Status CheckReadable(const TraceSet& set, const Processes& processes) {
  if (processes.first()) {
    REPRISE_TRY(set.Verify());
  }
  const std::vector<TraceSet::DistinctRank> ranks = set.DistinctRanks();
  const ItemRange own = OwnShare(processes, ranks.size());
  for (std::size_t i = own.begin; i < own.end; ++i) {
    const ValidationReport report = ValidateFile(ranks[i].path);
    if (!report.errors.empty()) {
      return BadInput(fmt::format("{}; not packed: `reprise validate {}` shows all that is wrong",
                                  report.errors.front(), set.directory));
    }
  }
  return {};
}

// Each process finds the sums of its share.
Result<std::vector<PackagedFile>> DescribeAll(const Contents& contents, Processes& processes) {
  std::vector<PackagedFile> files(contents.size());
  const auto describe_own = [&]() -> Status {
    const ItemRange own = OwnShare(processes, contents.size());
    for (std::size_t i = own.begin; i < own.end; ++i) {
      REPRISE_ASSIGN(files[i], Describe(contents[i].first, contents[i].second));
    }
    return {};
  };
  REPRISE_TRY(CompleteShares(processes, describe_own(), files));
  return files;
}

Status WriteTar(const Contents& contents, const PackageManifest& manifest,
                CompressedPieces& pieces) {
  TarWriter writer(pieces);
  REPRISE_TRY(writer.Open());
  const std::string text = ManifestText(manifest);
  REPRISE_TRY(writer.Add(kManifestFile, text.size(), {.text = text}));
  for (std::size_t i = 0; i < contents.size(); ++i) {
    REPRISE_TRY(writer.Add(contents[i].first, manifest.files[i].bytes, contents[i].second));
  }
  REPRISE_TRY(writer.Close());
  return pieces.Finish();
}

// A process alone writes its frames where they stay; each of several has a file for its own.
Status WritePackage(const Contents& contents, const PackageManifest& manifest,
                    const std::string& output, Processes& processes) {
  REPRISE_ASSIGN(TemporaryOutput file, TemporaryOutput::File(output));
  FileDescriptor descriptor = file.TakeDescriptor();
  CompressedPieces pieces(descriptor.get(), file.path(), processes);
  Status written = WriteTar(contents, manifest, pieces);
  if (processes.count() == 1) {
    REPRISE_TRY(written);
    return descriptor.Close() ? file.Publish()
                              : EnvironmentError(fmt::format("{}: cannot be written", file.path()));
  }
  REPRISE_TRY(processes.Agree(written));
  std::optional<TemporaryOutput> whole;
  Result<std::string> path;
  if (processes.first()) {
    path = TemporaryOutput::File(output).map([&](TemporaryOutput&& made) {
      whole = std::move(made);
      return whole->path();
    });
  }
  REPRISE_ASSIGN(const std::vector<std::string> paths, processes.Exchange(path));
  REPRISE_TRY(JoinFrames(descriptor.get(), pieces.frame_bytes(), paths.front(), processes));
  return whole ? whole->Publish() : Status();
}

}  // namespace

Result<PackReport> PackSet(const PackRequest& request, Processes& processes) {
  REPRISE_TRY(processes.Agree(processes.first() ? CheckOutput(request) : Status()));
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.directory));
  REPRISE_TRY(processes.Agree(CheckReadable(set, processes)));
  const Contents contents = ListContents(set, request);
  PackReport report;
  PackageManifest& manifest = report.manifest;
  manifest.name = set.name;
  manifest.reprise_version = kVersion;
  manifest.licence = request.licence_file.empty() ? "" : kLicenceFile;
  REPRISE_TRY(ReadNote(fs::path(set.directory) / kAnonymizedFile, manifest));
  for (const auto& [name, content] : contents) {
    if (!IsPackagePath(name)) {
      return BadInput(fmt::format(
          "{}: a package takes names of letters, digits and '._-' only: rename '{}' (convert "
          "--name), or anonymize the set",
          request.directory, name));
    }
  }
  REPRISE_ASSIGN(manifest.files, DescribeAll(contents, processes));
  REPRISE_TRY(processes.Agree(WritePackage(contents, manifest, request.output, processes)));
  std::error_code error;
  report.bytes = fs::file_size(request.output, error);
  report.left_out = LeftOut(request.directory, manifest);
  return report;
}

}  // namespace reprise
