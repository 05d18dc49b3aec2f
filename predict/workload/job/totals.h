// Sums over the nodes of one class of ranks, taken from the nodes as they are written.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/graph.h"
#include "predict/workload/emitter.h"

namespace reprise {

// Operations of a matrix product, attention or convolution, forward or backward, without a mask; a
// multiply-add counts 2. 0: something else. Attention's backward pass counts 4 products; its fused
// operators compute the scores again, which `recomputed` adds. Not core/costs/: that counts the
// pairs that a causal mask leaves, and closed forms of a job count all of them, exactly, in whole
// numbers.
struct MatrixWork {
  std::int64_t flops = 0;
  std::int64_t recomputed = 0;
};
// `keys`: NodeFacts::keys.
[[nodiscard]] MatrixWork MatrixWorkOf(const Node& node, std::int64_t keys = 0);

// Bytes of one rank. Parameters, gradients and states are there for the whole step; the others are
// the largest sum at any time, by first and last use.
struct MemorySums {
  std::int64_t parameters = 0, gradients = 0, optimizer = 0;
  std::int64_t activations = 0;        // made in a forward pass and used in a backward pass
  std::int64_t layer_activations = 0;  // those that a layer's backward pass uses
  std::int64_t stack = 0;              // what no operator names; 0 unless a prediction adds it
  std::int64_t peak = 0;               // everything
  // What else the peak holds: passing results, gathered parameters, inputs.
  [[nodiscard]] std::int64_t buffers() const {
    return peak - parameters - gradients - optimizer - activations - stack;
  }
};

struct TransferSums {
  std::int64_t count = 0, bytes = 0;  // bytes: of the larger side of each
};
struct GroupTransfers {
  CommKind kind = CommKind::kAllReduce;
  std::string group;  // its role
  TransferSums sums;
};

class Totals {
 public:
  // `repeatable`: keeps what each node adds, which Repeats and Repeated need.
  explicit Totals(bool repeatable) : repeatable_(repeatable) {}
  // `storages`: made so far (Emitter::uses).
  void Add(const Node& node, const NodeFacts& facts, std::size_t storages);
  // After the last node.
  void Finish(const std::vector<StorageUse>& uses) { uses_ = uses; }

  std::int64_t nodes = 0;
  // Of the forward and backward pass without what is computed again, by the number of ranks that
  // compute the same.
  std::map<std::int64_t, std::int64_t> model_flops;
  std::int64_t executed_flops = 0;
  std::vector<GroupTransfers> transfers;
  [[nodiscard]] MemorySums Memory() const;

  // Whether the nodes before the part add the same as those of the part.
  [[nodiscard]] bool Repeats(const RepeatedPart& part) const;
  // Of the program in which the part comes `times` times more. Not repeatable itself.
  [[nodiscard]] Totals Repeated(const RepeatedPart& part, std::int64_t times) const;

 private:
  struct Storage {
    std::int64_t bytes = 0;
    std::int64_t first = -1, last = -1;  // numbers of nodes
    bool forward = false, backward = false, layer = false;
  };
  struct StoragePart {
    std::int64_t incarnation = 0;
    std::int64_t bytes = 0;  // from the storage's begin to the end of what is used
    bool operator==(const StoragePart&) const = default;
  };
  // What one node adds.
  struct Share {
    std::int64_t model_flops = 0, copies = 1, executed_flops = 0;
    std::int64_t transfer_bytes = 0;
    std::int32_t transfer = -1;  // place in `transfers`
    bool forward = false, backward = false, layer = false;
    bool operator==(const Share&) const = default;
  };
  struct Kept {
    Share share;
    std::size_t parts = 0;     // place behind its own in parts_
    std::size_t storages = 0;  // made so far
  };
  [[nodiscard]] Share ShareOf(const Node& node, const NodeFacts& facts);
  [[nodiscard]] std::int32_t TransferOf(CommKind kind, std::string_view group);
  void AddShare(const Share& share);
  void Use(const Share& share, const StoragePart& part);
  [[nodiscard]] std::span<const StoragePart> PartsOf(std::size_t node) const;
  [[nodiscard]] std::int64_t StoragesBefore(std::size_t node) const;
  [[nodiscard]] std::int64_t Largest(const std::vector<const Storage*>& storages) const;

  bool repeatable_;
  std::vector<Storage> storages_;  // by incarnation
  std::vector<StorageUse> uses_;   // by incarnation
  std::vector<Kept> kept_;         // by node, if repeatable
  std::vector<StoragePart> parts_;
};

}  // namespace reprise
