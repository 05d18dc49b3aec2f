#include "converters/package/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "converters/anonymize/keyed_hash.h"
#include "et_schema/columns.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class PackageReader {
 public:
  explicit PackageReader(const UnpackRequest& request) : request_(request) {}
  PackageReader(const PackageReader&) = delete;
  PackageReader& operator=(const PackageReader&) = delete;
  ~PackageReader() { archive_read_free(archive_); }

  Status Open() {
    std::error_code error;
    packed_bytes_ = fs::file_size(request_.package, error);
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    if (error || archive_read_support_filter_zstd(archive_) != ARCHIVE_OK ||
        archive_read_support_format_tar(archive_) != ARCHIVE_OK ||
        archive_read_open_filename(archive_, request_.package.c_str(), kBlock) != ARCHIVE_OK) {
      return Bad(error ? error.message() : Why());
    }
    return {};
  }

  // The next file's name and size; nothing at the end of the archive.
  Result<bool> Next(std::string& name, std::uint64_t& bytes) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(archive_, &entry);
    if (code == ARCHIVE_EOF) {
      return false;
    }
    if (code != ARCHIVE_OK) {
      return Bad(Why());
    }
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr || (path != std::string_view(kManifestFile) && !IsPackagePath(path))) {
      return Bad(fmt::format("a file '{}': no package has a path like that",
                             path == nullptr ? "(no name)" : ShownPath(path)));
    }
    name = path;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr ||
        archive_entry_symlink(entry) != nullptr) {
      return Bad(fmt::format("'{}' is a link, device or folder: a package has files only", name));
    }
    if (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0 ||
        archive_entry_sparse_count(entry) > 0) {
      return Bad(fmt::format("'{}' has no size, or holes", name));
    }
    bytes = static_cast<std::uint64_t>(archive_entry_size(entry));
    return true;
  }

  // Hands on the current file's `bytes` bytes; fewer or more are an error.
  template <typename Add>
  Status Content(const std::string& name, std::uint64_t bytes, const Add& add) {
    constexpr std::size_t kPiece = std::size_t{1} << 18;
    std::vector<char> buffer(kPiece);
    std::uint64_t got = 0;
    for (;;) {
      const la_ssize_t size = archive_read_data(archive_, buffer.data(), buffer.size());
      if (size < 0) {
        return Bad(Why());
      }
      if (size == 0) {
        return got == bytes ? Status{}
                            : Bad(fmt::format("'{}' has {} bytes, expected {}", name, got, bytes));
      }
      got += static_cast<std::uint64_t>(size);
      if (got > bytes) {
        return Bad(fmt::format("'{}' has more than the {} bytes it says", name, bytes));
      }
      REPRISE_TRY(add(std::string_view(buffer.data(), static_cast<std::size_t>(size))));
    }
  }

  [[nodiscard]] tl::unexpected<Error> Bad(const std::string& what) const {
    return BadInput(fmt::format("{}: {}", request_.package, what));
  }
  [[nodiscard]] std::uint64_t packed_bytes() const { return packed_bytes_; }

 private:
  [[nodiscard]] std::string Why() const {
    const char* why = archive_error_string(archive_);
    return fmt::format("no package of `reprise pack`, or damaged: {}",
                       why == nullptr ? "not a zstd-compressed tar" : why);
  }
  const UnpackRequest& request_;
  archive* archive_ = archive_read_new();
  std::uint64_t packed_bytes_ = 0;
};

// Before anything is written: what the manifest announces.
Status CheckLimits(const PackageManifest& manifest, const UnpackLimits& limits,
                   const PackageReader& reader) {
  if (manifest.files.size() > limits.files) {
    return reader.Bad(fmt::format("{} files, over the limit of {} (--max-files)",
                                  manifest.files.size(), limits.files));
  }
  std::uint64_t bytes = 0;
  for (const PackagedFile& file : manifest.files) {
    if (file.bytes > limits.bytes - std::min(bytes, limits.bytes)) {
      return reader.Bad(
          fmt::format("over the limit of {} bytes unpacked (--max-bytes)", limits.bytes));
    }
    bytes += file.bytes;
  }
  if (bytes > UnpackLimits::kFreeBytes && bytes / limits.ratio > reader.packed_bytes()) {
    return reader.Bad(fmt::format(
        "{} bytes from {}: over the limit of {} to 1, as a compression bomb has (--max-ratio)",
        bytes, reader.packed_bytes(), limits.ratio));
  }
  return {};
}

Result<PackageManifest> ReadManifest(PackageReader& reader, const UnpackRequest& request) {
  std::string name;
  std::uint64_t bytes = 0;
  REPRISE_ASSIGN(const bool any, reader.Next(name, bytes));
  if (!any || name != kManifestFile) {
    return reader.Bad(
        fmt::format("its first file is not {}: not made by `reprise pack`", kManifestFile));
  }
  if (bytes > UnpackLimits::kManifestBytes) {
    return reader.Bad(fmt::format("a {} of {} bytes, over the limit of {}", kManifestFile, bytes,
                                  UnpackLimits::kManifestBytes));
  }
  std::string text;
  REPRISE_TRY(reader.Content(name, bytes, [&](std::string_view piece) -> Status {
    text += piece;
    return {};
  }));
  REPRISE_ASSIGN(PackageManifest manifest, ParseManifest(text, request.package));
  REPRISE_TRY(CheckLimits(manifest, request.limits, reader));
  return manifest;
}

Status ReadColumns(PackageReader& reader, const PackagedFile& expected,
                   const ColumnsDecoder::Put& write) {
  ColumnsDecoder decoder(expected.bytes, write);
  const auto named = [&](const Status& status) -> Status {
    return status || status.error().kind != ErrorKind::kBadInput
               ? status
               : reader.Bad(
                     fmt::format("'{}': {}", expected.stored_path(), status.error().message));
  };
  REPRISE_TRY(reader.Content(expected.stored_path(), expected.stored_bytes(),
                             [&](std::string_view piece) { return named(decoder.Add(piece)); }));
  return named(decoder.Finish());
}

Status ExtractFile(PackageReader& reader, const PackagedFile& expected, const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  Sha256Stream sum;
  const auto failed = [&path] {
    return EnvironmentError(fmt::format("{}: cannot be written", path.string()));
  };
  const auto write = [&](std::string_view piece) -> Status {
    sum.Add(piece);
    return out.write(piece.data(), static_cast<std::streamsize>(piece.size())) ? Status{}
                                                                               : failed();
  };
  if (expected.encoding.empty()) {
    REPRISE_TRY(reader.Content(expected.path, expected.bytes, write));
  } else {
    REPRISE_TRY(ReadColumns(reader, expected, write));
  }
  out.close();
  if (!out) {
    return failed();
  }
  return sum.Hex() == expected.sha256
             ? Status{}
             : reader.Bad(fmt::format("'{}' is not what its checksum says", expected.path));
}

Status ExtractAll(PackageReader& reader, const PackageManifest& manifest, const fs::path& folder) {
  std::string name;
  std::uint64_t bytes = 0;
  for (const PackagedFile& expected : manifest.files) {
    REPRISE_ASSIGN(const bool more, reader.Next(name, bytes));
    if (!more) {
      return reader.Bad(fmt::format("'{}' is missing", expected.path));
    }
    if (name != expected.stored_path() || bytes != expected.stored_bytes()) {
      return reader.Bad(fmt::format("'{}' of {} bytes, where {} lists '{}' of {}", name, bytes,
                                    kManifestFile, expected.stored_path(),
                                    expected.stored_bytes()));
    }
    REPRISE_TRY(ExtractFile(reader, expected, folder / expected.path));
  }
  REPRISE_ASSIGN(const bool more, reader.Next(name, bytes));
  return more ? reader.Bad(fmt::format("'{}' is not listed in {}", name, kManifestFile)) : Status{};
}

// A directory that disappears unless it was moved to its place.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(fs::path path) : path_(std::move(path)) {}
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

Result<PackageManifest> Unpack(const UnpackRequest& request) {
  fs::path target = fs::path(request.directory).lexically_normal();
  if (!target.has_filename()) {
    target = target.parent_path();
  }
  std::error_code error;
  const bool exists = fs::exists(fs::symlink_status(target, error));
  if (exists && !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    if (!request.force) {
      return UsageError(fmt::format("{} exists; give --force to replace it", request.directory));
    }
    if (!fs::is_regular_file(target / kManifestFile, error)) {
      return UsageError(fmt::format("{} is no unpacked package: it has no {}; not replaced",
                                    request.directory, kManifestFile));
    }
  }
  PackageReader reader(request);
  REPRISE_TRY(reader.Open());
  REPRISE_ASSIGN(PackageManifest manifest, ReadManifest(reader, request));
  const TemporaryDirectory temporary(fmt::format("{}.tmp-{}", target.string(), getpid()));
  if (!fs::create_directories(temporary.path(), error)) {
    return EnvironmentError(
        fmt::format("{}: cannot be created: {}", temporary.path().string(), error.message()));
  }
  REPRISE_TRY(ExtractAll(reader, manifest, temporary.path()));
  std::ofstream(temporary.path() / kManifestFile, std::ios::binary) << ManifestText(manifest);
  if (exists) {
    fs::remove_all(target, error);
  }
  fs::rename(temporary.path(), target, error);
  if (error) {
    return EnvironmentError(fmt::format("{}: {}", request.directory, error.message()));
  }
  return manifest;
}

}  // namespace reprise
