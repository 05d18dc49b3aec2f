// How a collective is made of messages: the algorithms behind `--algo`, registered in builtin.def.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/algorithms/lane.h"
#include "core/comm.h"

namespace reprise {

// One lane's share of a collective on one rank. Long collectives are cut into lanes, of which a few
// run at a time (AlgorithmChoice); lanes do not depend on each other.
struct LaneShape {
  CommKind kind = CommKind::kAllReduce;
  int rank = 0;  // positions in the group
  int size = 1;
  int root = -1;
  std::int64_t unit_bytes = 1;  // parts are whole units
  bool in_place = false;        // In is the very place in Out that holds the same bytes
  // Node of every member, numbered from 0 in order of appearance.
  std::span<const int> nodes;
  // all_reduce, reduce, broadcast: one range, the same of In and Out on every rank.
  ByteRange whole;
  // Kinds with blocks: bytes that lane has of every member's block, the same list on every member
  // (all_to_all: of what this rank sends).
  std::vector<std::int64_t> block_bytes;
  // Where these lie: in Out for all_gather and gather (own block: In, `own`), in In for
  // reduce_scatter, scatter and all_to_all (own block: Out, `own`).
  std::vector<ByteRange> blocks;
  ByteRange own;
  std::vector<ByteRange> out_blocks;  // all_to_all: what arrives from each member, in Out
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;  // as in --algo
  [[nodiscard]] virtual std::string_view about() const = 0;
  [[nodiscard]] virtual bool Supports(CommKind kind) const = 0;
  // How many bytes of the whole (of all blocks, where there are blocks) one lane takes if no
  // message is to be longer than `chunk_bytes`.
  [[nodiscard]] virtual std::int64_t LaneBytes(CommKind kind, int size,
                                               std::int64_t chunk_bytes) const = 0;
  // Requires Supports(shape.kind), size > 1 and bytes to move (or a barrier). In and Out are apart,
  // or shape.in_place says that they are not (of the whole, of the own block).
  [[nodiscard]] virtual Lane Plan(const LaneShape& shape) const = 0;
};

// Those of builtin.def, in its order.
[[nodiscard]] std::span<const std::unique_ptr<Algorithm>> BuiltinAlgorithms();
// Null: there is none of this name.
[[nodiscard]] const Algorithm* FindAlgorithm(std::string_view name);

}  // namespace reprise
