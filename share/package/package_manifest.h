// The list of what is in a package, its first file: manifest.json (docs/policies.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace reprise {

struct PackagedFile {
  std::string path;  // "trace.0.et", "runs/0.json"
  std::uint64_t bytes = 0;
  std::string sha256;
  // How it stands in the archive. "": as it is; kColumnsEncoding: as columns, of so many bytes.
  std::string encoding;
  std::uint64_t encoded_bytes = 0;
  bool operator==(const PackagedFile&) const = default;
  // In the archive: trace.0.et.columns.
  [[nodiscard]] std::string stored_path() const;
  [[nodiscard]] std::uint64_t stored_bytes() const {
    return encoding.empty() ? bytes : encoded_bytes;
  }
};

struct PackageManifest {
  std::string name;             // of the trace set
  std::int32_t et_format = 1;   // docs/et_format.md, reprise_format
  std::string reprise_version;  // that packed it
  std::string policy, policy_sha256, durations,
      shapes;                       // of anonymized.json; empty: not anonymized
  std::string licence;              // path of its text; empty: none
  std::vector<PackagedFile> files;  // in the order of the archive
  bool operator==(const PackageManifest&) const = default;
};

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kLicenceFile[] = "LICENCE.txt";
inline constexpr std::string_view kRunsFolder = "runs/";  // of older versions: summaries of runs
inline constexpr char kColumnsSuffix[] = ".columns";

// Format 1 if no file is encoded, so that versions before columns read it; else 2, which they
// refuse.
[[nodiscard]] std::string ManifestText(const PackageManifest& manifest);
// Bad input, `origin` first: no manifest of these formats, an encoding that this version does not
// know, or a path in it that IsPackagePath refuses.
[[nodiscard]] Result<PackageManifest> ParseManifest(const std::string& text,
                                                    const std::string& origin);

// What a file of a package may be called: one component, or one below runs/, of letters, digits and
// "._-", not beginning with a dot, at most 200 bytes. So no path leads elsewhere on any system.
[[nodiscard]] bool IsPackagePath(std::string_view path);
// A stranger's path for a message: short, without control characters.
[[nodiscard]] std::string ShownPath(std::string_view path);

}  // namespace reprise
