// A workload's iterations as nodes.
#pragma once

#include <vector>

#include "converters/astra_text/groups.h"
#include "converters/astra_text/workload.h"
#include "core/diagnostics.h"
#include "et_schema/node.h"

namespace reprise::astra_text {

// One rank's nodes, the same on every rank, `passes` iterations after each other. Compute runs on
// one stream. A transfer's group is called ScopeName, for the caller to replace; a transfer of one
// rank leaves no node. An iteration is
//   forward, first layer to last: compute, then the transfer, which the next layer waits for;
//   backward, last layer to first, where a gradient's transfer overlaps what follows:
//     DATA    weight gradient, its transfer, input gradient (not of the first layer)
//     MODEL   input gradient, its transfer, weight gradient; the next layer waits for both
//     HYBRID  as MODEL, and the weight gradient's transfer
//     RECOMPUTE  as HYBRID, and the weight gradient waits for the input gradient's transfer; before
//             a marked layer, forward passes from the last checkpoint up to it
//     DLRM    as DATA, with the embeddings' exchange of layer 0 beside the bottom layers
// and a layer's next forward pass waits for its weight gradient, or for the transfer of that.
// Transfers that a type does not use count as `transfer_not_used`, update times as
// `update_time_not_used`.
[[nodiscard]] std::vector<Node> BuildIterations(const Workload& workload, std::int32_t passes,
                                                const Groups& groups, Diagnostics& diagnostics);

}  // namespace reprise::astra_text
