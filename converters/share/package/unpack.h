// Turns a package back into a trace set. Packages may be hostile: every value in one is checked.
#pragma once

#include <cstdint>
#include <string>

#include "converters/share/package/package_manifest.h"
#include "core/result.h"

namespace reprise {

struct UnpackLimits {
  std::uint64_t bytes = std::uint64_t{64} << 30;  // of all files, unpacked
  std::uint64_t files = 100'000;
  // Unpacked per packed byte, beyond the first 16 MB: what a compression bomb has in the thousands.
  std::uint64_t ratio = 1'000;
  static constexpr std::uint64_t kManifestBytes = std::uint64_t{32} << 20;
  static constexpr std::uint64_t kFreeBytes = std::uint64_t{16} << 20;
};

struct UnpackRequest {
  std::string package;
  std::string directory;  // to create
  UnpackLimits limits;
  bool force = false;  // replace a package that an unpack wrote; nothing else is ever replaced
};

// Writes beside `directory` and renames at the end: the whole set, or nothing. Usage error: the
// output exists. Bad input: what is not such an archive, is cut, exceeds a limit, holds anything
// but the regular files that its manifest lists, in that order, or one of another size or sum, or a
// trace set that `ValidateFile` refuses.
[[nodiscard]] Result<PackageManifest> Unpack(const UnpackRequest& request);

}  // namespace reprise
