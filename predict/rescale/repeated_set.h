// A set's files with parts of its ranks' programs repeated more or less often.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/repeated_nodes.h"

namespace reprise {

// Of micro-batches or layers.
struct RepeatSummary {
  std::int64_t before = 0, after = 0;
  std::int64_t nodes_written = 0;
  std::int64_t copies = 0;  // of nodes, with those that work on more or fewer tensors
};

// Writes a file's nodes to one of the same name in `directory`, and counts them. `what`: what was
// done, for the file's origin. `costs`: as RescaleRequest has it.
[[nodiscard]] Status WriteRepeatedFile(const TraceSet& set, const TraceSet::DistinctRank& one,
                                       RepeatedNodes& nodes, const std::string& what,
                                       const std::function<void(Node&)>& costs,
                                       const std::string& directory, RepeatSummary& summary);
// Groups or classes, as the set has them.
[[nodiscard]] Status WriteSameGroups(const TraceSet& set, const std::string& directory);
// Bad input: the result would not replay. `with`: "12 micro-batches".
[[nodiscard]] Status CheckRepeatedSet(const TraceSet& set, const std::string& with,
                                      const std::string& directory);

}  // namespace reprise
