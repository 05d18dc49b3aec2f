// A trace set as one file: a zstd-compressed tar with a manifest, which `tar --zstd -x` reads too
// (docs/package_format.md). Same input, same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/share/package/package_manifest.h"
#include "core/processes.h"
#include "core/result.h"

namespace reprise {

struct PackRequest {
  std::string directory;     // the trace set
  std::string output;        // the file to write
  std::string licence_file;  // its text goes into the package; empty: none
  bool force = false;        // replace an output that exists
};

struct PackReport {
  PackageManifest manifest;
  std::uint64_t bytes = 0;            // of the package
  std::vector<std::string> left_out;  // files of the directory that are no part of the set
};

// Files are read twice: for their sums, and into the archive, which threads and `processes`
// compress side by side; all get the report, and the bytes are the same with any number of them.
// Usage error: the output exists. Bad input: no trace set, one that its checksums or `ValidateFile`
// refuse, or a name in it that no package may have.
[[nodiscard]] Result<PackReport> PackSet(const PackRequest& request,
                                         Processes& processes = OneProcess());

}  // namespace reprise
