// The records that say something of one transfer, and which of them is believed first.
#pragma once

#include <optional>
#include <string_view>

#include "converters/pytorch/host/host_trace.h"
#include "core/comm.h"

namespace reprise::pytorch {

// Any may be nullptr or empty. docs/definitions.md, "Sources of a transfer's facts", is the table
// that comm_sources.cc and comm_arguments.cc follow.
struct CommSources {
  const CommAttributes* kernel = nullptr;  // arguments of the device event
  const CommAttributes* kineto = nullptr;  // arguments of record_param_comms in the Kineto file
  const HostNode* record = nullptr;        // record_param_comms in the host trace
  const HostNode* call = nullptr;          // "c10d::allreduce_" in the host trace
  const HostNode* leaf = nullptr;          // "gloo:all_reduce" in the host trace
  std::string_view call_name;              // "c10d::allreduce_", whichever file has it
  std::string_view annotation;             // "nccl:all_reduce"
  std::string_view kernel_name;            // "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)"
};

// The kind that the first of them says that says any.
[[nodiscard]] std::optional<CommKind> KindOf(const CommSources& sources);

// The attributes of kernel, Kineto and host trace in one: each from the first that has it. Numbers
// of elements are of one source, and so are name and description of the group.
[[nodiscard]] CommAttributes Combine(const CommSources& sources);

}  // namespace reprise::pytorch
