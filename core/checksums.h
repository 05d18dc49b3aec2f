// Checksums of all files of a directory of ours, in checksums.xxh128: a line that names the kind of
// output, then "<XXH3-128 in hex>  <name>" for each file, sorted, as `xxh128sum` writes them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/output_kind.h"
#include "core/result.h"

namespace reprise {

// XXH3-128 of a file's bytes as they are on disk, as 32 hex digits.
[[nodiscard]] Result<std::string> ChecksumOf(const std::string& path);

// The same of bytes in memory.
[[nodiscard]] std::string ChecksumOfBytes(std::string_view bytes);

// Of the program that runs: only it reads what it has stored for itself. Empty: it cannot be read.
[[nodiscard]] const std::string& ChecksumOfProgram();

// A file that ends with the checksum of all before it. Environment error if the file cannot be read
// or written; nothing: it is not there, or damaged.
[[nodiscard]] Status AppendOwnChecksum(const std::string& path);
[[nodiscard]] std::optional<std::string> ReadWithOwnChecksum(const std::string& path);

// Of every regular file in `directory`, or of `names` if there are any. Replaces earlier ones in
// one step. Environment error if a file cannot be read or written. `known`: files whose checksums
// need not be taken, by name; they are listed in any case.
[[nodiscard]] Status WriteChecksums(const std::string& directory, OutputKind kind,
                                    std::vector<std::string> names = {},
                                    const std::map<std::string, std::string>& known = {});

// A directory's checksums, as far as it has any: earlier versions wrote none, and neither do others
// that write the same formats.
class Checksums {
 public:
  // Without the file: none, and not an error. Bad input: the file is there and none of ours.
  static Result<Checksums> Read(const std::string& directory);

  [[nodiscard]] bool known() const { return known_; }
  // Success if nothing is known. Bad input: the file is not listed, is missing, or has other bytes.
  [[nodiscard]] Status Verify(const std::string& name) const;
  // The same for several files, as many at a time as there are cores; of several damaged ones the
  // first is reported.
  [[nodiscard]] Status VerifyThese(const std::vector<std::string>& names) const;
  [[nodiscard]] const std::map<std::string, std::string>& sums() const { return sums_; }

 private:
  std::string directory_;
  bool known_ = false;
  std::map<std::string, std::string> sums_;  // by name
};

}  // namespace reprise
