// Chakra's messages → nodes: kinds, actors, callers, transfers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converters/chakra/rank_trace.h"
#include "core/result.h"
#include "et_schema/foreign.h"

namespace reprise::chakra {

// `nodes` in file order. What simulators write is taken at its word: both lists of dependencies are
// edges. In what was captured from PyTorch (nodes have `rf_id` or `fw_parent`), ctrl_deps is who
// called a node: it becomes `parent` and no edge (`caller_is_no_edge`).
[[nodiscard]] Status BuildNodes(const std::string& schema, const ForeignHeader& header,
                                std::vector<ForeignNode> nodes, RankTrace& trace);

// Adds the process groups that a node lists. Other nodes, by name and inputs, add nothing.
void AddGroups(std::string_view name, const ValueList& inputs, RankTrace& trace);

}  // namespace reprise::chakra
