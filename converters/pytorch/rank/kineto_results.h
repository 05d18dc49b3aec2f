// Kineto alone: results of the operations that computed something, as far as they are known.
#pragma once

#include <string>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/device_links.h"
#include "converters/pytorch/rank/operation_list.h"
#include "converters/pytorch/rank/roles.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// Gives work operations that will have their arguments in the trace the outputs that follow from
// their inputs (infer_results.h), each new tensor with an identity of its own, and marks them
// (`results_inferred`). Others stay without outputs (`results_unknown`).
void InferKinetoResults(const OperationList& list, const std::vector<Classified>& roles,
                        const DeviceLinks& links, const KinetoTrace& kineto, HostTrace& host,
                        Diagnostics& diagnostics);

}  // namespace reprise::pytorch
