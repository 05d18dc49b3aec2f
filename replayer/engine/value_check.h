// Counts denormals, infinities and NaN in the inputs and results of each real operation of one
// replay of the trace.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "core/result.h"
#include "core/value_counts.h"
#include "et_schema/graph.h"
#include "kernels/device.h"
#include "replayer/memory/device_memory.h"

namespace reprise {

// Thread-safe for different nodes. `graph` and `memory` must outlive it.
class ValueCheck {
 public:
  ValueCheck(const Graph& graph, const DeviceMemory& memory) : graph_(graph), memory_(memory) {}

  // Counting begins, from zero, and ends.
  void Begin();
  [[nodiscard]] std::map<std::string, ValueCounts> End();  // by operation
  [[nodiscard]] bool counting() const { return counting_.load(std::memory_order_relaxed); }

  // Where the tensors are in host memory: at once, by the task that ran the node, before what it
  // has brought is freed. Nothing while not counting.
  void CountHere(Graph::Index i);
  // Elsewhere: `stream` ran the node, and is waited for.
  [[nodiscard]] Status CountOn(Stream& stream, Graph::Index i);

 private:
  template <typename Read>
  Status Count(Graph::Index i, const Read& read);

  const Graph& graph_;
  const DeviceMemory& memory_;
  std::atomic<bool> counting_ = false;
  std::mutex mutex_;
  std::map<std::string, ValueCounts> by_operation_;
};

}  // namespace reprise
