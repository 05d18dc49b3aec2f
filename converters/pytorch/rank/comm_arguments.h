// What a c10d call's arguments say about the transfer that it issues.
#pragma once

#include <cstdint>
#include <string_view>

#include "converters/pytorch/host/host_trace.h"
#include "core/comm.h"
#include "core/value.h"

namespace reprise::pytorch {

struct CommArguments {
  // Without group, index, and with root and peer still -1: those are group ranks below.
  CommSpec spec;
  std::int32_t group_root = -1;  // rank within the group, as c10d counts
  std::int32_t group_peer = -1;
  std::int32_t group_size = -1;  // from list lengths and size ratios; -1: unknown
  bool blocking = false;         // async_op=false: the caller waits before it continues
  ValueList sent, received;      // the tensors, flattened
};

// From whichever record knows: `call` (c10d::allreduce_ …), `record` (record_param_comms) and
// `transfer` (gloo:all_reduce); any may be null, not all. `rank_in_group` decides what the root of
// a rooted collective sends or receives; -1 if not known yet.
[[nodiscard]] CommArguments ReadCommArguments(const HostNode* call, const HostNode* record,
                                              const HostNode* transfer);

// Sizes that depend on whether this rank is the root, once that is known.
void SettleRoot(bool is_root, CommArguments& arguments);

// Position of a parameter in "c10d::send(Tensor[] tensors, …, int dst, int tag) -> …"; -1: none.
[[nodiscard]] int ParameterIndex(std::string_view schema, std::string_view parameter);

}  // namespace reprise::pytorch
