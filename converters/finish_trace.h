// The last step of converting a trace that others made: nodes with whatever times and dependencies
// they have become a rank's trace in which start = latest dependency's end + delay holds.
#pragma once

#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

struct FinishedTrace {
  std::vector<Node> nodes;   // by start
  std::int64_t base_ns = 0;  // what was taken off the recorded starts
  std::vector<Step> steps;   // one, with all nodes
};

// Bad input, naming ids, on an id that two nodes have and on a cycle. Otherwise:
//   - a dependency on a node that is not there is dropped (`dangling_dependency`);
//   - where most nodes have a start, starts are kept, nodes without one follow what they wait for
//     (`node_without_start`), and a dependency that ends after its dependent started is dropped
//     (`dependency_ends_too_late`);
//   - else times are made up: every node starts as soon as what it waits for and its actor let it,
//     actors taking one node at a time in the order in which they become ready (ties: file order),
//     transfers of one sequence in file order as far as dependencies allow, so that all ranks issue
//     them alike;
//   - nodes of one actor that do not overlap get an edge from one to the next where none leads
//     there (`order_edge`); those that do are counted (`overlap_on_actor`).
// `path` begins every message. CommSpec::index is set by the resulting order; nodes' steps to 0.
[[nodiscard]] Result<FinishedTrace> FinishTrace(const std::string& path, std::int32_t rank,
                                                std::vector<Node> nodes, Diagnostics& diagnostics);

}  // namespace reprise
