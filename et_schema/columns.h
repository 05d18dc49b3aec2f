// An `.et` file in columns: the same messages, all starts together, all durations together, and so
// on, which compress several times better (docs/package_format.md). Bytes in, the same bytes out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace reprise {

// The name of the encoding: what columns written today can be read as.
inline constexpr char kColumnsEncoding[] = "columns-1";

// Takes an uncompressed `.et` file in pieces and puts out columns, block by block. Memory: about
// 100 MB, less for files below 16 MB. Not thread-safe.
class ColumnsEncoder {
 public:
  using Put = std::function<Status(std::string_view)>;
  explicit ColumnsEncoder(Put put) : put_(std::move(put)) {}
  // Bad input: no sequence of messages after their lengths, a message of more than 15 MiB, or more
  // kinds of fields than the format allows: columns can't hold that file.
  [[nodiscard]] Status Add(std::string_view bytes);
  [[nodiscard]] Status Finish();

 private:
  [[nodiscard]] Status EncodeBlock();
  Put put_;
  std::string buffer_;
  bool first_ = true;  // no block was put out yet
};

// The way back, for bytes of strangers. Memory: a block of up to 32 MiB, in columns of up to twelve
// bytes for one of the file: 100 MB for what traces hold, half a gigabyte at the worst.
class ColumnsDecoder {
 public:
  using Put = std::function<Status(std::string_view)>;
  // `bytes`: of the file; more or fewer are an error.
  ColumnsDecoder(std::uint64_t bytes, Put put) : left_(bytes), put_(std::move(put)) {}
  // Bad input: not what ColumnsEncoder puts out. `put` has had what stands in the blocks before.
  [[nodiscard]] Status Add(std::string_view columns);
  [[nodiscard]] Status Finish();

 private:
  // False: more bytes are needed.
  [[nodiscard]] Result<bool> DecodeBlock();
  std::uint64_t left_;
  Put put_;
  std::string buffer_;
  std::string block_;
  bool last_ = false;  // only the last block may be small
};

}  // namespace reprise
