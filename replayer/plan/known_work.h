// The work of a compute node according to its trace (docs/coverage.md).
#pragma once

#include <functional>
#include <string_view>

#include "core/costs/cost.h"
#include "core/records.h"
#include "core/value.h"
#include "et_schema/graph.h"

namespace reprise {

class Kernel;  // kernels/kernel.h
// The kernel that runs a call, nullptr if none does: KernelRegistry::Find. Empty: nothing is run.
using FindKernel = std::function<const Kernel*(const OpCall& call)>;

struct KnownWork {
  const Kernel* kernel = nullptr;  // that runs the operation itself
  Cost cost;
  WorkSource source = WorkSource::kUnknown;
  bool no_elements = false;  // its results have no elements: there is nothing to launch
};

// Unknown for storage. Else from the best source that the node has: arguments with shapes, num_ops
// and tensor_size, copied bytes. `call` is graph.Call(i).
[[nodiscard]] KnownWork FindWork(const Graph& graph, Graph::Index i, const OpCall& call,
                                 const FindKernel& find_kernel);

// Whether the operands of an operation say what it works. Where a device graph's recording gave the
// operation, only those of the operator table and Inductor's kernels do: operators of serving
// engines take whole caches and use some rows.
[[nodiscard]] bool SaysItsWork(OpSource source, std::string_view operation);

// A node that only moves or fills memory, with its number of bytes: a memcpy or memset of a device,
// Chakra's MEM_LOAD and MEM_STORE. -1 for any other node.
[[nodiscard]] std::int64_t MovedBytes(const Graph& graph, Graph::Index i);

// Work that no kernel can do, whatever its arguments and counts: compiled code, of which nothing
// says what it computes, and storage.
[[nodiscard]] bool HasNothingButTime(const Graph& graph, Graph::Index i);

// Of a node of MovedBytes: it writes memory and reads none.
[[nodiscard]] bool OnlyFills(const Graph& graph, Graph::Index i);

// Of such a node: it copies between the memories of host and device.
[[nodiscard]] bool CrossesToHost(const Graph& graph, Graph::Index i);

// Whether some node that computes or transfers has a recorded duration.
[[nodiscard]] bool HasDurations(const Graph& graph);

}  // namespace reprise
