// Bytes in and out of files: plain, gz or zstd. Only et_schema and cli/output_file see this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace reprise {

// Decompressed bytes of a file, or of a rank's of a folded capture (folded_set.h); compression is
// recognised by content. Concatenated gz members and
// zstd frames read as one stream. A compressed stream that ends before its end mark is an error,
// and so is what core/input_file.h refuses.
class ByteSource {
 public:
  static Result<std::unique_ptr<ByteSource>> Open(const std::string& path);
  virtual ~ByteSource() = default;
  // Fills as much of `out` as is at hand, at least one byte; 0 at the end.
  [[nodiscard]] virtual Result<std::size_t> Read(std::span<std::uint8_t> out) = 0;
  // Of the file on disk, compressed if it is.
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }

 protected:
  std::uint64_t file_bytes_ = 0;
};

// Writes to a TemporaryOutput, which Commit() moves to `path`; without it nothing is left. The
// name's ending chooses compression: .gz, .zst, else plain.
class ByteSink {
 public:
  static Result<std::unique_ptr<ByteSink>> Create(const std::string& path);
  virtual ~ByteSink() = default;
  [[nodiscard]] virtual Status Write(std::string_view bytes) = 0;
  // Overwrites bytes written earlier; where the stream is compressed, nothing.
  [[nodiscard]] virtual Status Patch(std::uint64_t /*offset*/, std::string_view /*bytes*/) {
    return {};
  }
  [[nodiscard]] virtual Status Commit() = 0;
};

}  // namespace reprise
