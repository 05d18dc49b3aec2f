// Planned transfers as bytes, for the members of a mismatch.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/matching/sequences.h"
#include "core/result.h"

namespace reprise {

// The first of them, at least one if there is one: no more than begin within `most_bytes`.
[[nodiscard]] std::string EncodeTransfers(std::span<const PlannedTransfer* const> transfers,
                                          std::size_t most_bytes);
[[nodiscard]] Result<std::vector<PlannedTransfer>> DecodeTransfers(std::string_view text);

}  // namespace reprise
