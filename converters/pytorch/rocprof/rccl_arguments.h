// What a call of RCCL says, as PyTorch's record_param_comms would.
#pragma once

#include <optional>

#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/rocprof/rocprof_records.h"
#include "core/comm.h"
#include "core/dtype.h"

namespace reprise::pytorch {

// "7", "ncclFloat32", "float32" → the type (rccl.h, ncclDataType_t).
[[nodiscard]] DType RcclDataType(std::string_view text);

// Elements and their type, on the side that the call counts; the root or peer. `members` of the
// only communicator that the process made; 0: not known, and the group is not said.
void AddRcclArguments(CommKind kind, const RocprofArguments* arguments, std::int64_t members,
                      EventArguments& args);

}  // namespace reprise::pytorch
