// Kineto alone: what most people have. A host trace made of what Kineto's events say of themselves.
#pragma once

#include <simdjson.h>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// The arguments in a cpu_op event (recorded with record_shapes=True).
[[nodiscard]] std::unique_ptr<KinetoArguments> ReadKinetoArguments(simdjson::dom::element args);

// One node for every event, linked by a record-function id that it sets in both. Shapes, types and
// strides are there if they were recorded; which storage a tensor has is not, so every tensor gets
// one of its own: no data edges (counted: `tensor_identity_unknown`). No outputs are recorded; what
// follows from the inputs comes later (rank/kineto_results.cc).
[[nodiscard]] HostTrace HostTraceOf(KinetoTrace& kineto, const std::string& label,
                                    Diagnostics& diagnostics);

}  // namespace reprise::pytorch
