#include "predict/traced_memory.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "predict/simulator/device_operations.h"

namespace reprise {
namespace {

struct TracedStorage {
  std::int64_t bytes = 0;
  std::int64_t first = 0, last = 0;
};

// The end of what a tensor sees of its storage.
std::int64_t EndBytes(const TensorDesc& tensor) {
  return (tensor.offset + ExtentElements(tensor)) * SizeOf(tensor.dtype);
}

Result<std::int64_t> PeakOf(const Graph& graph) {
  std::unordered_map<std::int64_t, TracedStorage> storages;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (!DoesWork(graph, i)) {
      continue;  // views take no memory
    }
    REPRISE_ASSIGN(const OpCall call, graph.Call(i));
    const auto use = [&](const ValueList& values, bool read) {
      for (const TensorDesc* const tensor : TensorsIn(values)) {
        if (!tensor->IsDefined()) {
          continue;
        }
        const auto [at, added] = storages.try_emplace(tensor->incarnation);
        TracedStorage& storage = at->second;
        if (added) {
          storage.first = read ? 0 : i;
          storage.last = read ? graph.size() : 0;
        }
        storage.bytes = std::max(storage.bytes, EndBytes(*tensor));
        storage.last = std::max<std::int64_t>(storage.last, i);
      }
    };
    use(call.inputs, true);
    use(call.outputs, false);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (const auto& [incarnation, storage] : storages) {
    changes.emplace_back(storage.first, storage.bytes);
    changes.emplace_back(storage.last + 1, -storage.bytes);
  }
  std::ranges::sort(changes);
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const auto& [at, bytes] : changes) {
    now += bytes;
    peak = std::max(peak, now);
  }
  return peak;
}

}  // namespace

Result<std::optional<TracedMemory>> TracedMemoryOf(std::span<const Graph> ranks) {
  TracedMemory memory;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& counters = ranks[rank].metadata().diagnostics;
    if (std::ranges::any_of(counters, [](const auto& counter) {
          return counter.first == "tensor_identity_unknown" && counter.second > 0;
        })) {
      return std::optional<TracedMemory>();
    }
    REPRISE_ASSIGN(const std::int64_t peak, PeakOf(ranks[rank]));
    if (peak > memory.peak_bytes) {
      memory = {peak, rank};
    }
  }
  return memory.peak_bytes > 0 ? std::optional(memory) : std::nullopt;
}

}  // namespace reprise
