// The file of a class's times: a record for each rank, packed on its own. Only et_schema sees this.
//
//   "RPRTIMES", version (4 bytes, 1), number of ranks (4 bytes)
//   for each rank where its record ends in the file (8 bytes)
//   the records: zstd frames, with the header of the class's file as dictionary
//
// Numbers are little-endian. What a record has: RankEncoder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "et_schema/byte_stream.h"
#include "et_schema/rank_columns.h"

namespace reprise {

// Packed, for TimesWriter.
[[nodiscard]] Result<std::string> PackRecord(const ReferenceRank& reference,
                                             const std::string& record);
class TimesWriter {
 public:
  static Result<std::unique_ptr<TimesWriter>> Create(const std::string& path, std::size_t ranks);
  // Of the next rank; after as many as Create was told, Close.
  [[nodiscard]] Status Add(const std::string& packed);
  [[nodiscard]] Status Close();

 private:
  TimesWriter(std::unique_ptr<ByteSink> sink, std::uint64_t first)
      : sink_(std::move(sink)), end_(first) {}

  std::unique_ptr<ByteSink> sink_;
  std::uint64_t end_;
  std::string ends_;
};

// The bytes of the file of a class's rank, the `number`-th of `ranks`. `name`: of that file, for
// messages.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> OpenTimes(
    const std::string& path, std::size_t number, std::size_t ranks,
    const std::shared_ptr<const ReferenceRank>& reference, const std::string& name);

}  // namespace reprise
