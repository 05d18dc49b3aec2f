// What the members of a sequence must have in common, as numbers that ranks can reduce: 64-bit
// hashes (XXH3), so two different transfers pass for one in 1 of 10^19 cases.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/comm.h"

namespace reprise {

// Equal on all members of a collective whose specs fit (same_transfer.h): kind, dtype, root, and
// sizes or splits as far as they are the same for all.
[[nodiscard]] std::int64_t FingerprintOf(const CommSpec& spec);
// Of a reduction whose operation was recorded: its number + 1; else 0, which contradicts nothing.
[[nodiscard]] std::int64_t OperationOf(const CommSpec& spec);
// Of an all_to_all with splits: what this rank has for each member and expects from it, xor-ed over
// the members. The xor of all members' claims is 0 if every block is what its receiver expects. 0
// for anything else.
[[nodiscard]] std::int64_t ClaimsOf(const CommSpec& spec, std::size_t n, std::int32_t rank,
                                    std::span<const std::int32_t> ranks);
// The n-th transfer from one rank to another: equal for a send and the recv that fits it.
[[nodiscard]] std::int64_t PairClaimOf(const CommSpec& spec, std::size_t n, std::int32_t source,
                                       std::int32_t destination);
// Of any list of numbers, in order.
[[nodiscard]] std::int64_t HashOf(std::span<const std::int64_t> words);

// Elements that a member of an all_to_all has for (`in`) or expects from the member at `position`;
// -1: its list is too short.
[[nodiscard]] std::int64_t BlockOf(const CommSpec& spec, bool in, std::size_t position,
                                   std::size_t group_size);

}  // namespace reprise
