// Parts of a step that come again, one right after the other.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/phase.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/rescale/program_order.h"

namespace reprise {

// From `begin` on, each main node does the same as the one `period` before it, up to `end`.
struct PeriodicRun {
  std::uint32_t begin = 0, end = 0, period = 0;

  [[nodiscard]] std::uint32_t size() const { return end - begin; }
};

// Which passes a part has.
enum class Passes : std::uint8_t { kBoth, kForward, kBackward };

// Where the tensors of a node are, in the order in which it names them: storage and offset.
using TensorPlaces = std::vector<std::pair<std::int64_t, std::int64_t>>;
// Bad input: arguments that cannot be decoded; so of the others, too.
[[nodiscard]] Result<TensorPlaces> TensorsOf(const Graph& graph, Graph::Index i);

// Storages that were there before the trace, not made by operators: parameters and data.
struct KnownStorages {
  std::set<std::int64_t> all;
  std::set<std::int64_t> trained;  // of these: what an optimizer names
};
[[nodiscard]] Result<KnownStorages> StoragesFromBefore(const Graph& graph,
                                                       const ProgramOrder& order,
                                                       const std::vector<Phase>& phases);

// Those with nodes of forward passes.
[[nodiscard]] std::set<std::int32_t> StepsWithForward(const Graph& graph,
                                                      const std::vector<Phase>& phases);

// What comes again. Periods with both passes of micro-batches have the same trained weights, or
// name none; those of one pass the same weights. Layers have their own.
enum class Repeated : std::uint8_t { kMicroBatches, kLayers };

// The longest run of a step whose periods have these passes, of several as long the first. Empty:
// there is none. `phases`: by node.
[[nodiscard]] Result<PeriodicRun> FindLongestRun(const Graph& graph, const ProgramOrder& order,
                                                 const std::vector<Phase>& phases,
                                                 const KnownStorages& weights, std::int32_t step,
                                                 Repeated what, Passes passes);

// Whether a run names at least half of the weights that forward passes name. What comes again
// within a layer, for queries, keys and values say, has fewer.
[[nodiscard]] Result<bool> HasMostWeights(const Graph& graph, const ProgramOrder& order,
                                          const std::vector<Phase>& phases,
                                          const KnownStorages& weights, const PeriodicRun& run);

}  // namespace reprise
