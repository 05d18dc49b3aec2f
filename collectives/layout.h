// What a transfer reads and writes on one rank, checked: the rules that transports, checks and
// matching share.
//
//   kind                   reads                  writes
//   all_reduce             in_bytes               in_bytes (= out_bytes)
//   reduce                 in_bytes               in_bytes on the root
//   all_gather             in_bytes               in_bytes x n, or out_splits
//   gather                 in_bytes               in_bytes x n, or out_splits, on the root
//   scatter                out_bytes x n, or in_splits, on the root    out_bytes
//   broadcast              in_bytes on the root   out_bytes elsewhere; on the root a copy, if any
//   all_to_all             in_bytes               out_bytes: even blocks, or in_/out_splits
//   reduce_scatter         out_bytes x n, or in_splits                 out_bytes
//   send, recv             in_bytes               out_bytes
//
// Splits of all_gather, gather (out_splits) and of reduce_scatter, scatter (in_splits) are the same
// list on every member, on ranks that neither read nor write it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "core/comm.h"
#include "core/result.h"

namespace reprise {

struct TransferLayout {
  int element_bytes = 1;
  int root = -1;  // within the group
  int peer = -1;  // within the group
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t block_bytes = 0;  // even blocks: bytes per member; else the whole message
  bool uneven = false;           // then blocks are these, in bytes per member:
  std::vector<std::int64_t> in_blocks;
  std::vector<std::int64_t> out_blocks;
};

// BadInput where sizes, splits, root or peer contradict each other or the group; UsageError where
// the reduction does not exist for the dtype. The message names kind, group, index and rank.
[[nodiscard]] Result<TransferLayout> LayoutOf(const CommSpec& spec, const GroupPlace& place);

// The bytes of a collective's larger buffer on any member, which all `members` derive alike from
// their own specs. Nothing where they cannot: with splits.
[[nodiscard]] std::optional<std::int64_t> LargestBuffer(const CommSpec& spec, int members);

// Whether the buffers hold what the layout reads and writes.
[[nodiscard]] Status CheckBuffers(const CommSpec& spec, const TransferLayout& layout,
                                  std::size_t in_bytes, std::size_t out_bytes);
[[nodiscard]] bool Overlap(std::span<const std::byte> a, std::span<const std::byte> b);
// Whether `ranks` can be a group: not empty, within the run, each once.
[[nodiscard]] Status CheckGroup(const std::vector<std::int32_t>& ranks, int world_size);

// "all_reduce #12 of group 'tp'": how messages name a transfer.
[[nodiscard]] std::string Describe(const CommSpec& spec);
// Position of a global rank in the group, -1 if it is no member.
[[nodiscard]] int PositionOf(std::int32_t global_rank, std::span<const std::int32_t> ranks);

}  // namespace reprise
