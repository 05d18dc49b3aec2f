// A set's files with another number of micro-batches in each step.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/repeated_set.h"

namespace reprise {

// Writes files, groups or classes, and the job of a generated set, into a directory that is there.
// All ranks keep their order of passes: those that fill and drain a pipeline stay, those between
// come more or less often. Bad input: micro-batches that are not found (FindMicroBatches), not as
// many on each rank, or of which so few cannot be left out; numbers that a schedule with several
// chunks of layers does not take; a result that would not replay.
[[nodiscard]] Result<RepeatSummary> WriteMicroBatches(const TraceSet& set,
                                                      std::int64_t micro_batches,
                                                      const std::string& directory);

}  // namespace reprise
