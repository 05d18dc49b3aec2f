// Tensors as ASTRA-sim's tracker of local memory counts them: by name, with a size, written once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"

namespace reprise::astra_sim {

// A rank's tensors, one per storage incarnation, as large as the largest view of it. The node that
// first mentions one as a result writes it; every other node that mentions it reads it, also the
// ones that change it in place.
class RankTensors {
 public:
  static Result<RankTensors> Create(const Graph& graph);

  // Those that a node writes, or those that it reads: {"t7", "4096", "t9", "64"}, names and bytes.
  [[nodiscard]] std::vector<std::string> List(Graph::Index node, bool written) const;
  // Of each node, those that wrote what it reads. The tracker stops at a tensor that is read before
  // it is written.
  [[nodiscard]] std::vector<std::vector<Graph::Index>> Writers() const;

 private:
  struct Tensor {
    std::int64_t bytes = 0;
    bool written = false;  // else it was there before the trace begins
    Graph::Index writer = 0;
  };

  std::unordered_map<std::int64_t, Tensor> tensors_;     // by incarnation
  std::vector<std::vector<std::int64_t>> incarnations_;  // that a node mentions
};

}  // namespace reprise::astra_sim
