#include "converters/share/package/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "converters/share/anonymize/anonymize.h"
#include "converters/share/anonymize/keyed_hash.h"
#include "core/checksums.h"
#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"
#include "et_schema/folded_set.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class PackageReader {
 public:
  explicit PackageReader(const UnpackRequest& request) : request_(request) {}

  Status Open() {
    REPRISE_ASSIGN(input_, OpenInput(request_.package));
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    if (archive_read_support_filter_zstd(archive_.get()) != ARCHIVE_OK ||
        archive_read_support_format_tar(archive_.get()) != ARCHIVE_OK ||
        archive_read_open_fd(archive_.get(), input_.descriptor.get(), kBlock) != ARCHIVE_OK) {
      return Bad(Why());
    }
    return {};
  }

  // The next file's name and size; nothing at the end of the archive.
  Result<bool> Next(std::string& name, std::uint64_t& bytes) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(archive_.get(), &entry);
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
      const la_ssize_t size = archive_read_data(archive_.get(), buffer.data(), buffer.size());
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
  [[nodiscard]] std::uint64_t packed_bytes() const { return input_.bytes; }

 private:
  [[nodiscard]] std::string Why() const {
    const char* why = archive_error_string(archive_.get());
    return fmt::format("no package of `reprise pack` (a tar compressed with zstd), or damaged: {}",
                       why == nullptr ? "unknown" : why);
  }
  const UnpackRequest& request_;
  OpenedInput input_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_{archive_read_new(),
                                                                  &archive_read_free};
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

Status ExtractFile(PackageReader& reader, const PackagedFile& expected, const fs::path& path) {
  std::ofstream out(path, std::ios::binary);
  Sha256Stream sum;
  const auto failed = [&path] {
    return EnvironmentError(fmt::format("{}: cannot be written", path.string()));
  };
  REPRISE_TRY(reader.Content(expected.path, expected.bytes, [&](std::string_view piece) -> Status {
    sum.Add(piece);
    return out.write(piece.data(), static_cast<std::streamsize>(piece.size())) ? Status{}
                                                                               : failed();
  }));
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
    if (name != expected.path || bytes != expected.bytes) {
      return reader.Bad(fmt::format("'{}' of {} bytes, where {} lists '{}' of {}", name, bytes,
                                    kManifestFile, expected.path, expected.bytes));
    }
    REPRISE_TRY(ExtractFile(reader, expected, folder / expected.path));
  }
  REPRISE_ASSIGN(const bool more, reader.Next(name, bytes));
  return more ? reader.Bad(fmt::format("'{}' is not listed in {}", name, kManifestFile)) : Status{};
}

// What an earlier unpack may have written; anything else in the directory stays.
bool BelongsToPackage(const std::string& name) {
  return IsEtFileName(name) || name == kManifestFile || name == kLicenceFile ||
         name == kAnonymizedFile || name == kChecksumsFile || name == kGroupsFile ||
         name == kGroupsInfoFile || name == kRanksFile || name == kFoldedFile ||
         name.ends_with(".times") || name == kJobFile || name == kRescaledFile ||
         name == kTransformedFile;
}

// Checksums show that the bytes are those that were packed, not that those were sound.
Status CheckUnpacked(const PackageReader& reader, const std::string& directory) {
  const Result<TraceSet> set = TraceSet::OpenPresent(directory);
  if (!set) {
    return reader.Bad(fmt::format("holds no readable trace set: {}", set.error().message));
  }
  if (const Result<bool> verified = set->Verify(); !verified) {
    return reader.Bad(verified.error().message);
  }
  for (const TraceSet::DistinctRank& one : set->DistinctRanks()) {
    const ValidationReport report = ValidateFile(one.path);
    if (!report.errors.empty()) {
      return reader.Bad(fmt::format("its trace set cannot be replayed: {}", report.errors.front()));
    }
  }
  return {};
}

}  // namespace

Result<PackageManifest> Unpack(const UnpackRequest& request) {
  REPRISE_TRY(CheckReplaceable(request.directory, OutputKind::kUnpackedPackage, request.force));
  PackageReader reader(request);
  REPRISE_TRY(reader.Open());
  REPRISE_ASSIGN(PackageManifest manifest, ReadManifest(reader, request));
  REPRISE_ASSIGN(TemporaryOutput temporary, TemporaryOutput::Directory(request.directory));
  const fs::path folder = temporary.path();
  REPRISE_TRY(ExtractAll(reader, manifest, folder));
  REPRISE_TRY(CheckUnpacked(reader, temporary.path()));
  REPRISE_TRY(WriteTextFile((folder / kManifestFile).string(), ManifestText(manifest)));
  if (!fs::exists(folder / kChecksumsFile)) {
    std::vector<std::string> names;  // those of the set
    for (const PackagedFile& file : manifest.files) {
      if (file.path != kLicenceFile) {
        names.push_back(file.path);
      }
    }
    REPRISE_TRY(WriteChecksums(temporary.path(), OutputKind::kTraceSet, std::move(names)));
  }
  REPRISE_TRY(temporary.Publish([](const std::string& name) { return !BelongsToPackage(name); }));
  return manifest;
}

}  // namespace reprise
