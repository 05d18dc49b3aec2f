// Tensors that data-parallel ranks divide among them: parts of parameters, of gradients and of the
// optimizer's states. With another number of ranks each part has another size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "et_schema/node.h"
#include "predict/rescale/tensors/divided_among.h"

namespace reprise {

// Found in a rank's nodes, which are shown to it in order, several times: Measure over all of them
// and EndMeasure, then Follow over all of them until it finds no more, then Change, node by node.
//
// Parts are as large as FSDP2 makes them: the first dimension divided and rounded up, the rest of
// the last part padding.
//
// It begins with what reduce-scatters leave and what all-gathers take, and follows it: through
// views of a storage that is a shard as a whole; through elementwise operators, copies and
// optimizers, whose tensors of as many elements (in lists: at the same place) are shards, too;
// through what FSDP2 copies in and out.
class ShardedTensors {
 public:
  // `division`: of the node's transfer, where its group changes and it divides a buffer.
  void Measure(const Node& node, const std::optional<DividedAmong>& division);
  void EndMeasure();
  // Whether it has found another shard. Bad input: an operator that combines a shard in a way that
  // is not known, by its name.
  [[nodiscard]] Result<bool> Follow(const Node& node);
  // Gives the node's tensors, and numbers among its arguments that follow from them, their new
  // sizes; whether any had another. Bad input: an operator that works on a shard and on what is
  // none, a part of a shard whose new place is not known.
  [[nodiscard]] Result<bool> Change(Node& node) const;

  // Of a node all of whose tensors are shards.
  [[nodiscard]] std::optional<DividedAmong> DivisionOfAll(const Node& node) const;
  // Elements of a part after, of one that the node does not have as a tensor.
  [[nodiscard]] static std::int64_t Divided(std::int64_t elements, const DividedAmong& division);

  [[nodiscard]] bool empty() const { return parts_.empty() && whole_.empty(); }

 private:
  using PartKey =
      std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // storage, offset, elements
  // What a shard of several parameters has of each, one behind the other.
  struct Piece {
    std::int64_t elements = 0, offset_after = 0, elements_after = 0;
    bool operator==(const Piece&) const = default;
  };
  using Pieces = std::map<std::int64_t, Piece>;  // by offset
  struct PackedShard {
    std::int64_t elements_after = 0;
    Pieces pieces;
    bool operator==(const PackedShard&) const = default;
  };
  // A buffer of all parts: also seen as a row for each rank. By elements of a row, those after.
  struct Rows {
    DividedAmong division;
    std::map<std::int64_t, std::int64_t> columns;
    // Else of one parameter, whose own shape does not change, and may be the same: these tensors,
    // by their ids, are seen by rows.
    bool is_buffer = false;
    std::set<std::int64_t> views;
  };

  [[nodiscard]] const DividedAmong* DivisionOf(const TensorDesc& tensor) const;
  [[nodiscard]] const Rows* RowsOf(const TensorDesc& tensor) const;
  [[nodiscard]] std::int64_t ElementsAfter(const TensorDesc& tensor,
                                           const DividedAmong& division) const;
  [[nodiscard]] std::int64_t RowAfter(std::int64_t elements, const DividedAmong& division) const;
  bool Add(const TensorDesc& tensor, const DividedAmong& division);
  bool AddRows(std::int64_t storage, std::int64_t row, const DividedAmong& division,
               bool is_buffer);
  [[nodiscard]] Result<bool> FollowCopyIn(const Node& node);
  bool FollowCopyOut(const Node& node);
  bool FollowJoined(const Node& node);
  [[nodiscard]] Result<bool> FollowAlike(const Node& node);
  bool ChangeChunks(Node& node) const;
  [[nodiscard]] Status CheckAlike(const Node& node) const;
  bool ResizeRows(TensorDesc& tensor) const;
  [[nodiscard]] Status ResizeShard(const Node& node, TensorDesc& tensor,
                                   const DividedAmong& division) const;
  [[nodiscard]] Status ResizeAll(const Node& node, ValueList& values, bool& changed) const;
  void ChangeSizes(Value& sizes, std::int64_t packed, const DividedAmong& division) const;

  std::unordered_map<std::int64_t, std::int64_t> extents_;  // elements of each storage
  // Of each storage, elements of a row of its largest tensor of several dimensions.
  std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>> largest_rows_;
  std::map<PartKey, DividedAmong> parts_;
  std::unordered_map<std::int64_t, DividedAmong> whole_;  // storages that are shards as a whole
  std::unordered_map<std::int64_t, Rows> rows_;           // by storage
  std::map<std::int64_t, PackedShard> packed_;            // by elements
};

}  // namespace reprise
