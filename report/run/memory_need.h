// Whether a run, or some ranks of it, can be held in memory, known before they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/result.h"

namespace reprise {

// A run whose ranks' files hold as much together is large: run.sqlite leaves its nodes to them, and
// what a report finds of it is kept.
inline constexpr std::int64_t kLargeRunBytes = std::int64_t{32} << 20;

// What these ranks' files hold; rows that repeat count as often as they come
// (report/run/repeated_rows.h).
[[nodiscard]] std::int64_t BytesOfRanks(const std::string& directory,
                                        std::span<const std::int32_t> ranks);

// Memory and swap of this machine.
[[nodiscard]] std::int64_t MachineMemoryBytes();

// Whether these ranks' files can be read and analysed together in so much memory.
[[nodiscard]] bool FitsInMemory(const std::string& directory, std::span<const std::int32_t> ranks,
                                std::int64_t memory_bytes);
// Likewise, of files of so many bytes.
[[nodiscard]] bool FitsInMemory(std::int64_t file_bytes, std::int64_t memory_bytes);

// How many of these ranks fit in so much memory together, whichever they are; 1 at least.
[[nodiscard]] std::size_t RanksAtATime(const std::string& directory,
                                       std::span<const std::int32_t> ranks,
                                       std::int64_t memory_bytes);

// Environment error, with what to do instead, if the files of these ranks clearly exceed memory.
// Anything near the limit passes.
[[nodiscard]] Status CheckMemory(const std::string& directory, std::span<const std::int32_t> ranks,
                                 std::int64_t memory_bytes);

}  // namespace reprise
