// `.et` files as columns (et_schema/columns.h), on disk while a package is put together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "share/package/package_manifest.h"

namespace reprise {

// Temporary files beside the package, gone with this object. Not thread-safe.
class ColumnFiles {
 public:
  // Files are `prefix` and a number.
  explicit ColumnFiles(std::string prefix) : prefix_(std::move(prefix)) {}
  ColumnFiles(const ColumnFiles&) = delete;
  ColumnFiles& operator=(const ColumnFiles&) = delete;
  ~ColumnFiles();

  // Writes the columns of the file at `path`, reads them back, and compares: `file` has the size
  // and sum that must come out. Then sets its encoding and stored size, and returns where the
  // columns are. Bad input: columns can't hold this file, or would not be smaller; it is to be
  // stored as it is.
  [[nodiscard]] Result<std::string> Store(const std::string& path, PackagedFile& file);

 private:
  std::string prefix_;
  std::vector<std::string> paths_;
};

}  // namespace reprise
