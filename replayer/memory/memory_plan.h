// Assigns storage incarnations to buffers by their lifetimes in the trace, so that memory stays
// near the original's peak. A pure function over lifetimes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "replayer/memory/float_values.h"
#include "replayer/plan/plan.h"

namespace reprise {

enum class IndexOrder : std::uint8_t {
  kScattered,
  kPermutation,  // of all numbers below the bound
  kRising,       // from 0, in equal steps
};

// Life of one storage incarnation, in positions of the recorded order (graph indices).
struct StorageLife {
  std::int64_t incarnation = 0;
  std::int64_t bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  // Existed before the trace began (parameters, optimizer state, data): read before written.
  bool persistent = false;
  // Used by one thread or stream only: in-order execution makes reuse safe without synchronising.
  bool single_actor = true;
  std::uint32_t actor = 0;
  // Otherwise, the order that dependencies guarantee. For each actor that uses the storage: the
  // position of its last use (of a transfer: of the node that waits for it). And by actor: up to
  // which position its nodes have ended before the first use. Empty: no guarantee.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> until;
  std::vector<std::uint32_t> after;
  bool transferred = false;       // a transfer reads or writes it
  DType dtype = DType::kUnknown;  // of its first use
  // What it starts as where it is persistent (initial_values.h).
  std::int64_t index_low = 0;    // integers: the smallest value
  std::int64_t index_bound = 0;  // exclusive upper bound of valid values, 0 = none found
  IndexOrder order = IndexOrder::kScattered;
  std::int64_t number = 1;  // a single integer: valid for all indices that are computed from it
  std::vector<std::pair<std::int64_t, FloatRange>> floats = {{0, {}}};  // from which element on
  double float_number = 1;  // a single floating-point value
  bool changes = false;     // the step writes it: it would start the next iteration differently
};

struct MemoryPlan {
  std::vector<StorageLife> storages;
  std::unordered_map<std::int64_t, std::uint32_t> buffer_of;  // incarnation → buffer
  std::vector<std::int64_t> buffer_bytes;
  std::int64_t original_peak_bytes = 0;  // largest sum of live storages at any position
  std::int64_t planned_bytes = 0;        // sum of buffer_bytes
  bool shared_across_actors = false;     // as passed to PlanMemory
};

// Lifetimes of every storage that an executed node touches. A transfer's storages live until the
// node that waits for it.
[[nodiscard]] Result<std::vector<StorageLife>> FindLifetimes(const Graph& graph, const Plan& plan);

// Largest first (of equal ones the longest-lived), each into the smallest buffer whose other
// storages are all certainly over before it begins or begin after it is over. With
// `share_across_actors` what the recorded times say is enough (times stay right, contents do not).
[[nodiscard]] MemoryPlan PlanMemory(std::vector<StorageLife> storages, bool share_across_actors);

}  // namespace reprise
