// What becomes of each recorded operation: a node, a frame, part of another, a transfer.
#pragma once

#include <string>
#include <vector>

#include "converters/pytorch/rank/operation_list.h"
#include "core/diagnostics.h"
#include "core/operators.h"

namespace reprise::pytorch {

enum class Role : std::uint8_t {
  kFrame,     // composite: no node, only the `parent` of its children
  kNode,      // one node from its start to its end: work, metadata or wait
  kPart,      // inside a node, a comm call or a transfer
  kCommCall,  // issues a transfer
  kTransfer,  // is one
};

struct Classified {
  Role role = Role::kFrame;
  OpInfo info;
  // It went to a Python tensor subclass (DTensor): its arguments are wrappers without storage.
  bool subclass = false;
};

// Parallel to `list.operations`. Operators that core/operators.def lacks are work if they are
// dispatched operators with a schema, touch tensors, take time and call no work; all are counted
// (`unknown_operator`).
[[nodiscard]] std::vector<Classified> Classify(const OperationList& list, const HostTrace& host,
                                               const std::string& label, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
