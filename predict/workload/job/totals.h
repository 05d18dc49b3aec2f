// Sums over the nodes of one class of ranks, taken from the nodes as they are written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

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
[[nodiscard]] MatrixWork MatrixWorkOf(const Node& node);

// Bytes of one rank. Parameters, gradients and states are there for the whole step; the others are
// the largest sum at any time, by first and last use.
struct MemorySums {
  std::int64_t parameters = 0, gradients = 0, optimizer = 0;
  std::int64_t activations = 0;        // made in a forward pass and used in a backward pass
  std::int64_t layer_activations = 0;  // those that a layer's backward pass uses
  std::int64_t peak = 0;               // everything
  // What else the peak holds: passing results, gathered parameters, inputs.
  [[nodiscard]] std::int64_t buffers() const {
    return peak - parameters - gradients - optimizer - activations;
  }
};

struct TransferSums {
  std::int64_t count = 0, bytes = 0;  // bytes: of the larger side of each
};

class Totals {
 public:
  explicit Totals(const Emitter& emitter) : emitter_(emitter) {}
  void Add(const Node& node, const NodeFacts& facts);

  std::int64_t nodes = 0;
  // Of the forward and backward pass without what is computed again, by the number of ranks that
  // compute the same.
  std::map<std::int64_t, std::int64_t> model_flops;
  std::int64_t executed_flops = 0;
  std::map<std::pair<std::string, std::string>, TransferSums> transfers;  // kind, group's role
  [[nodiscard]] MemorySums Memory() const;

 private:
  struct Storage {
    std::int64_t bytes = 0;
    std::int64_t first = -1, last = -1;  // numbers of nodes
    bool forward = false, backward = false, layer = false;
  };
  void Use(const TensorDesc& tensor, const NodeFacts& facts, std::int64_t number);
  [[nodiscard]] std::int64_t Largest(const std::vector<const Storage*>& storages) const;

  const Emitter& emitter_;
  std::vector<Storage> storages_;  // by incarnation
};

}  // namespace reprise
