// Whether a run can be held in memory, known before it is read.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace reprise {

// Memory and swap of this machine.
[[nodiscard]] std::int64_t MachineMemoryBytes();

// Refuses (environment) a run whose ranks' files are so large that reading and analysing them can't
// end well with so much memory; says what to do instead. Anything near the limit passes.
[[nodiscard]] Status CheckMemory(const std::string& directory, int world_size,
                                 std::int64_t memory_bytes);

}  // namespace reprise
