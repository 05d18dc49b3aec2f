// Whether two members mean the same transfer.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/comm.h"

namespace reprise {

// What differs between the specs of two members of one collective, or of a send and its recv, as
// "in_bytes 4096 vs 8192"; empty if they fit. `rank_a` and `rank_b` are global ranks, `ranks` the
// group's.
[[nodiscard]] std::string DifferenceBetween(const CommSpec& a, std::int32_t rank_a,
                                            const CommSpec& b, std::int32_t rank_b,
                                            std::span<const std::int32_t> ranks);

}  // namespace reprise
