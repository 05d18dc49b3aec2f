// How much of a batch one step works on, concluded from the trace (docs/definitions.md, "Tokens and
// samples").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/phase.h"
#include "et_schema/graph.h"

namespace reprise {

// Of this rank; means over the trace's steps. Nothing where the trace does not say.
struct StepBatch {
  std::optional<std::int64_t> tokens, samples;
  std::string tokens_from, samples_from;  // how each was found
  // The group whose members compute on the same tokens (tensor parallelism); empty: none.
  std::string shared_by;
};

// `phases` as FindPhases returns them.
[[nodiscard]] StepBatch FindStepBatch(const Graph& graph, const std::vector<Phase>& phases);

}  // namespace reprise
