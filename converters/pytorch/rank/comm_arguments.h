// What a c10d call's arguments say about the transfer that it issues.
#pragma once

#include <cstdint>
#include <string_view>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/rank/comm_sources.h"
#include "core/comm.h"
#include "core/value.h"

namespace reprise::pytorch {

struct CommArguments {
  // Without group, index, and with root and peer still -1: those are ranks below.
  CommSpec spec;
  std::int32_t group_root = -1;  // rank within the group, as c10d counts
  std::int32_t group_peer = -1;
  std::int32_t peer = -1;        // global rank, where a record names it so
  std::int32_t group_size = -1;  // from list lengths and size ratios; -1: unknown
  bool blocking = false;         // async_op=false: the caller waits before it continues
  bool lists = false;            // a side has several tensors
  bool sends_part = false;       // the splits of an all_to_all add up to less than a buffer
  bool splits_unknown = false;   // they were cut short, or contradict the sizes
  ValueList sent, received;      // the tensors, flattened
  CommAttributes said;           // by all records; of the group, too
};

// What the sources say, in the order of docs/definitions.md, "Sources of a transfer's facts". What
// none of them says is unknown (core/comm.h, LacksOf).
[[nodiscard]] CommArguments ReadCommArguments(const CommSources& sources);

[[nodiscard]] inline bool LacksKindOrSize(const CommSpec& spec) {
  return spec.kind == CommKind::kUnknown || !spec.bytes_known;
}

// Sizes that depend on how many members the group has, once `said.group_size` is known.
void SettleSizes(CommArguments& arguments);

// Sizes that depend on whether this rank is the root, once that is known.
void SettleRoot(bool is_root, CommArguments& arguments);

// Position of a parameter in "c10d::send(Tensor[] tensors, …, int dst, int tag) -> …"; -1: none.
[[nodiscard]] int ParameterIndex(std::string_view schema, std::string_view parameter);

}  // namespace reprise::pytorch
