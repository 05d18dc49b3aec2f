// Whether ASTRA-sim would run a set, without running it: what its workload layer reads, and stops
// or gets stuck at.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/trace_set.h"

namespace reprise {

struct ReaderFindings {
  std::vector<std::string> errors;    // it refuses the set, stops, or some rank never ends
  std::vector<std::string> warnings;  // it runs, and simulates something else than was recorded
};

// Reads the messages as they are in the files, from any writer (a missing attribute is not the
// same as its default there). One line per rule, with a count and the first place. Errors of the
// files themselves are returned as the readers say. Bytes of chunks: it cuts collectives into four
// parts, as its examples do.
[[nodiscard]] Result<ReaderFindings> CheckForAstraSim(const TraceSet& set);

}  // namespace reprise
