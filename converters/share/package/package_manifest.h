// The list of what is in a package, its first file: manifest.json (docs/package_format.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace reprise {

struct PackagedFile {
  std::string path;  // "trace.0.et"
  std::uint64_t bytes = 0;
  std::string sha256;
  bool operator==(const PackagedFile&) const = default;
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

[[nodiscard]] std::string ManifestText(const PackageManifest& manifest);
// Bad input, `origin` first: no manifest of this format, or a path in it that IsPackagePath
// refuses.
[[nodiscard]] Result<PackageManifest> ParseManifest(const std::string& text,
                                                    const std::string& origin);

// What a file of a package may be called: letters, digits and "._-", not beginning with a dot or a
// hyphen, at most 200 bytes. So no path leads elsewhere on any system.
[[nodiscard]] bool IsPackagePath(std::string_view path);
// A stranger's path for a message: short, without control characters.
[[nodiscard]] std::string ShownPath(std::string_view path);

}  // namespace reprise
