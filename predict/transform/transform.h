// A set that rules changed, as a set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/transform/rule_set.h"

namespace reprise {

struct TransformRequest {
  std::string set;        // directory
  std::string directory;  // of the result
  bool force = false;     // replace an output that exists
};

struct TransformSummary {
  std::int64_t ranks = 0;
  std::int64_t files = 0;  // of a folded set, its classes
  std::int64_t nodes_before = 0, nodes_after = 0;
  std::string missing;  // ranks of the source without a file, which the result lacks, too; or empty
};

// Writes the set with the rules' changes, folded if it was; transformed.json says what was done
// from what, and Node::rescaled which nodes a rule found. Recorded starts stay: when nodes start
// now follows from edges, delays and durations. Bad input: a rule that finds nothing, or only nodes
// without recorded times to change, or that makes a set which does not replay.
[[nodiscard]] Result<TransformSummary> TransformSet(const TransformRequest& request,
                                                    RuleSet& rules);

}  // namespace reprise
