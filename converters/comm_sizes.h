// Sizes and element types of transfers whose trace has one number of bytes for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/comm.h"
#include "core/diagnostics.h"

namespace reprise {

// From what a rank gives, `spec.in_bytes` (a receive: what it gets), to both sides for a group of
// `group_size`. A type that the trace does not name is taken for float32, or uint8 where the bytes
// are no whole number of those (`dtype_assumed`). What the group must share evenly is rounded up
// (`comm_size_rounded_up`). `where` is the example in the diagnostics.
void CompleteSizes(std::int64_t group_size, const std::string& where, CommSpec& spec,
                   Diagnostics& diagnostics);

// Sets largest_bytes of one collective's members where they contribute different amounts.
void ShareLargestBytes(std::span<CommSpec* const> members);

}  // namespace reprise
