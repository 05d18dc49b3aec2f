// Which operation calls which, by their times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/operation_list.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// Sorts `list.operations` thread by thread, fills in threads, callers and subtrees. `order` (may be
// empty) tells by event which of two that start together came first. Where all times are whole µs,
// a call may seem to end after its caller, or to start when that has ended: there the host trace's
// callers decide, as far as one µs explains it.
void NestOperations(const HostTrace& host, const KinetoTrace& kineto,
                    const std::vector<std::int32_t>& order, const std::string& label,
                    OperationList& list, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
