// Which nodes of a set are operations of its devices.
#pragma once

#include <span>

#include "et_schema/graph.h"

namespace reprise {

// Whether any rank has device streams besides transfers.
[[nodiscard]] bool HasStreams(std::span<const Graph> graphs);

// Whether anything but transfers is of host threads: recorders of communication libraries have
// transfers alone.
[[nodiscard]] bool HasThreads(std::span<const Graph> graphs);

// What a rank does besides launching, waiting and naming: operations, transfers and what streams
// do.
[[nodiscard]] bool DoesWork(const Graph& graph, Graph::Index i);

// Whether operations of a class compute or move data on a device.
[[nodiscard]] bool WorksOnDevice(OpClass op_class);

// What the device does; in sets without streams there are only host threads, whose work is the
// device's. Transfers are none.
[[nodiscard]] bool IsOperation(const Graph& graph, Graph::Index i, bool streams);

}  // namespace reprise
