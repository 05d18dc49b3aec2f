// Whether a run, or some ranks of it, can be held in memory, known before they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/result.h"

namespace reprise {

// A run whose ranks' files hold as much together is large: run.sqlite leaves its nodes to them, and
// what a report finds of it is kept.
inline constexpr std::int64_t kLargeRunBytes = std::int64_t{32} << 20;

// What the files of a run's ranks hold. Each is looked at once; one thread at a time.
class RankSizes {
 public:
  explicit RankSizes(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] const std::string& directory() const { return directory_; }
  // Of these ranks together; rows that repeat count as often as they come
  // (report/run/repeated_rows.h). 0 of a file that is not there.
  [[nodiscard]] std::int64_t BytesOf(std::span<const std::int32_t> ranks);

 private:
  std::string directory_;
  std::map<std::int32_t, double> bytes_;
};

// Memory and swap of this machine.
[[nodiscard]] std::int64_t MachineMemoryBytes();

// Whether ranks' files of so many bytes can be read and analysed together in so much memory.
[[nodiscard]] bool FitsInMemory(std::int64_t file_bytes, std::int64_t memory_bytes);

// How many of these ranks fit in so much memory together, whichever they are; 1 at least.
[[nodiscard]] std::size_t RanksAtATime(RankSizes& sizes, std::span<const std::int32_t> ranks,
                                       std::int64_t memory_bytes);

// Environment error, with what to do instead, if the files of these ranks clearly exceed memory.
// Anything near the limit passes.
[[nodiscard]] Status CheckMemory(RankSizes& sizes, std::span<const std::int32_t> ranks,
                                 std::int64_t memory_bytes);

}  // namespace reprise
