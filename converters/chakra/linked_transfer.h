// Reads a collective from a linked trace.
#pragma once

#include "converters/chakra/linked_nodes.h"
#include "core/comm.h"
#include "et_schema/node.h"

namespace reprise::chakra {

// Makes `node`, which has its arguments, the transfer that `from` recorded: sizes from the recorded
// element counts, else from the arguments.
void FillLinkedTransfer(CommKind kind, const LinkedNode& from, Node& node);

}  // namespace reprise::chakra
