#include "converters/package/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "converters/anonymize/anonymize.h"
#include "converters/anonymize/keyed_hash.h"
#include "converters/package/column_files.h"
#include "converters/package/file_pieces.h"
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

// Hands a content on in pieces; `add` returns a Status.
template <typename Add>
Status ForEachPiece(const Content& content, const Add& add) {
  if (content.path.empty()) {
    return add(std::string_view(content.text));
  }
  return ForEachPieceOfFile(content.path, add);
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
  explicit TarWriter(std::string path) : path_(std::move(path)) {}
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;
  ~TarWriter() {
    archive_write_free(archive_);
    std::error_code error;
    fs::remove(path_, error);  // renamed by now, or of no use
  }

  Status Open() {
    // Measured on captures: a third smaller than level 12, which misses a fifth of the gz capture.
    if (archive_write_set_format_pax_restricted(archive_) != ARCHIVE_OK ||
        archive_write_add_filter_zstd(archive_) != ARCHIVE_OK ||
        archive_write_set_filter_option(archive_, "zstd", "compression-level", "19") !=
            ARCHIVE_OK ||
        archive_write_open_filename(archive_, path_.c_str()) != ARCHIVE_OK) {
      return Failed();
    }
    return {};
  }

  // Owner, times and modes are nobody's business, and the same for everyone.
  Status Add(const std::string& name, std::uint64_t bytes, const Content& content) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                              archive_entry_free);
    constexpr int kMode = 0644;
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), kMode);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
    archive_entry_set_mtime(entry.get(), 0, 0);
    if (archive_write_header(archive_, entry.get()) != ARCHIVE_OK) {
      return Failed();
    }
    std::uint64_t written = 0;
    REPRISE_TRY(ForEachPiece(content, [&](std::string_view piece) -> Status {
      written += piece.size();
      return archive_write_data(archive_, piece.data(), piece.size()) ==
                     static_cast<la_ssize_t>(piece.size())
                 ? Status{}
                 : Failed();
    }));
    return written == bytes ? Status{}
                            : BadInput(fmt::format("{}: changed while it was packed", name));
  }

  Status Close(const std::string& final_path) {
    if (archive_write_close(archive_) != ARCHIVE_OK) {
      return Failed();
    }
    std::error_code error;
    fs::rename(path_, final_path, error);
    return error ? EnvironmentError(fmt::format("{}: {}", final_path, error.message())) : Status{};
  }

 private:
  tl::unexpected<Error> Failed() {
    const char* why = archive_error_string(archive_);
    return EnvironmentError(
        fmt::format("{}: cannot be written: {}", path_, why == nullptr ? "unknown" : why));
  }
  std::string path_;
  archive* archive_ = archive_write_new();
};

// Under which policy the set is, if `reprise anonymize` wrote it.
Status ReadNote(const fs::path& path, PackageManifest& manifest) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return {};
  }
  try {
    const nlohmann::json note = nlohmann::json::parse(in);
    manifest.policy = note.at("policy").at("name").get<std::string>();
    manifest.policy_sha256 = note.at("policy").at("sha256").get<std::string>();
    manifest.durations = note.at("durations").get<std::string>();
    manifest.shapes = note.at("shapes").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    return BadInput(fmt::format("{}: {}", path.string(), error.what()));
  }
  return {};
}

using Contents = std::vector<std::pair<std::string, Content>>;

Contents ListContents(const TraceSet& set, const PackRequest& request) {
  Contents contents;
  for (const char* name : {kAnonymizedFile, "comm_groups.json", "comm_groups_info.json"}) {
    const fs::path path = fs::path(set.directory) / name;
    if (std::error_code error; fs::is_regular_file(path, error)) {
      contents.push_back({name, {.path = path.string()}});
    }
  }
  for (const auto& [rank, path] : set.files) {
    contents.push_back({fs::path(path).filename().string(), {.path = path}});
  }
  for (std::size_t i = 0; i < request.run_summaries.size(); ++i) {
    contents.push_back(
        {fmt::format("{}{}.json", kRunsFolder, i), {.text = request.run_summaries[i]}});
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

}  // namespace

Result<PackReport> PackSet(const PackRequest& request) {
  std::error_code error;
  if (fs::exists(request.output, error) && !request.force) {
    return UsageError(fmt::format("{} exists; give --force to replace it", request.output));
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.directory));
  Contents contents = ListContents(set, request);
  PackReport report;
  PackageManifest& manifest = report.manifest;
  manifest.name = set.name;
  manifest.reprise_version = kVersion;
  manifest.licence = request.licence_file.empty() ? "" : kLicenceFile;
  REPRISE_TRY(ReadNote(fs::path(set.directory) / kAnonymizedFile, manifest));
  ColumnFiles columns(fmt::format("{}.tmp.{}.columns", request.output, getpid()));
  for (auto& [name, content] : contents) {
    if (!IsPackagePath(name) || !IsPackagePath(name + kColumnsSuffix)) {
      return BadInput(fmt::format(
          "{}: a package takes names of letters, digits and '._-' only: rename '{}' (convert "
          "--name), or anonymize the set",
          request.directory, name));
    }
    REPRISE_ASSIGN(PackagedFile file, Describe(name, content));
    if (!request.plain && name.ends_with(".et")) {
      if (auto stored = columns.Store(content.path, file)) {
        content.path = std::move(*stored);
      } else if (stored.error().kind == ErrorKind::kBadInput) {
        report.stored_plainly.push_back({name, stored.error().message});
      } else {
        return tl::unexpected<Error>(stored.error());
      }
    }
    manifest.files.push_back(std::move(file));
  }
  TarWriter writer(fmt::format("{}.tmp.{}", request.output, getpid()));
  REPRISE_TRY(writer.Open());
  const std::string text = ManifestText(manifest);
  REPRISE_TRY(writer.Add(kManifestFile, text.size(), {.text = text}));
  for (std::size_t i = 0; i < contents.size(); ++i) {
    REPRISE_TRY(writer.Add(manifest.files[i].stored_path(), manifest.files[i].stored_bytes(),
                           contents[i].second));
  }
  REPRISE_TRY(writer.Close(request.output));
  report.bytes = fs::file_size(request.output, error);
  report.left_out = LeftOut(request.directory, manifest);
  return report;
}

}  // namespace reprise
