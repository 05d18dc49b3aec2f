// An export of Nsight Systems, read as the JSON text of a Kineto file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "converters/text_source.h"
#include "core/result.h"

namespace reprise::pytorch {

// The events of one process ("globalPid"; -1: the only one).
//
// - Kernels, copies, fills and whole graphs on streams, with their launches by correlation.
// - Synchronisation: which record of an event a call waited for.
// - NVTX: ranges as annotations; those of torch.autograd's emit_nvtx as operators; ranges that
//   count steps ("step 5", "iteration", "train_step") also as the profiler's steps. Marks are left
//   out.
// - NCCL's calls as record_param_comms, with what their payloads say. A group of calls is a batch.
//
// Memory: texts that are used, events of CUDA, and a block of text. Bad input: damaged, a time that
// can't be.
[[nodiscard]] Result<std::unique_ptr<TextSource>> OpenNsightText(const std::string& path,
                                                                 std::int64_t process);

}  // namespace reprise::pytorch
