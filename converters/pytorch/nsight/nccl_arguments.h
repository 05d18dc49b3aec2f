// What a call of NCCL says, as PyTorch's record_param_comms would.
#pragma once

#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/nsight/nccl_ranges.h"
#include "converters/pytorch/nsight/nsight_file.h"
#include "core/comm.h"

namespace reprise::pytorch {

// Sizes are bytes ("In msg bytes", "Out msg bytes"), on the side that the payload counts. Groups
// are communicators, with members where the export saw them begin.
void AddNcclArguments(CommKind kind, const NcclPayload& payload, const NsightFile& file,
                      EventArguments& args);

}  // namespace reprise::pytorch
