// Storage ids are reused after free: finds the incarnation of each tensor's storage.
#pragma once

#include <string>
#include <vector>

#include "converters/pytorch/rank/operation_list.h"
#include "converters/pytorch/rank/roles.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// Sets TensorDesc::incarnation in every argument of `host`, walking all operations in order of
// time, those inside work operations included. A new incarnation begins
// - when an operation that aliases no input returns the storage id, unless something that it called
//   returned it already;
// - when device, size or element type contradict what is known of the storage
//   (`storage_contradiction`: an allocation that the capture does not show).
// Counts reuse (`storage_id_reused`). Returns the number of incarnations.
std::int64_t AssignIncarnations(const OperationList& list, const std::vector<Classified>& roles,
                                const std::string& label, HostTrace& host,
                                Diagnostics& diagnostics);

}  // namespace reprise::pytorch
