// Groups of transfers whose capture names none (stock gloo): the one assignment that fits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converters/pytorch/rank/comm_arguments.h"
#include "et_schema/trace_set.h"

namespace reprise::pytorch {

struct InferenceTransfer {
  std::int32_t rank = 0;
  // The thread that ran it. gloo gives every group threads of its own: what runs on one thread is
  // of one group. -1: not known (point-to-point).
  std::int64_t worker = -1;
  std::int64_t start_ns = 0, end_ns = 0;
  const CommArguments* arguments = nullptr;
};

// `transfers` in order of issue on each rank, ranks one after the other, of the ranks `captured`;
// what other members did is unknown and contradicts nothing. `groups` without twins (equal rank
// lists); `twins` says how many more groups have the ranks of each. Returns an index into `groups`
// for each transfer, -1 where no assignment, or more than one that makes a difference, satisfies
// all of
// - membership, the group's size where arguments imply it, roots and peers within the group;
// - the n-th transfers of a group are of one kind, type and size on all its members, and a send
//   meets its receive;
// - no member ends before what it needs arrives;
// - a group has no more than the two threads that gloo gives it, where that leaves a choice.
[[nodiscard]] std::vector<int> InferGroups(std::span<const InferenceTransfer> transfers,
                                           std::span<const ProcessGroup> groups,
                                           std::span<const std::size_t> twins,
                                           std::span<const std::int32_t> captured);

}  // namespace reprise::pytorch
