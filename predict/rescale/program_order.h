// A rank's nodes in the order in which its program issued them, and which of them are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"

namespace reprise {

// Host nodes by recorded start, and what each of them launched right after it, in the order of its
// own starts: kernels run when the device comes to them, and that differs from one micro-batch to
// the next.
struct ProgramOrder {
  std::vector<Graph::Index> nodes;   // by place in the order
  std::vector<std::uint32_t> place;  // by node
  std::vector<bool> launched;        // by place: another node launched it
  // By place. Nodes of one number do the same in the same step: operation, arguments' shapes,
  // actor, transfer.
  std::vector<std::uint32_t> work;
  std::uint32_t works = 0;  // numbers are below

  // Sizes: whether equal nodes have the same shapes and bytes; experts' differ from one
  // micro-batch to the next. Bad input: arguments that cannot be decoded.
  enum class Sizes : std::uint8_t { kEqual, kAny };
  [[nodiscard]] static Result<ProgramOrder> Of(const Graph& graph, Sizes sizes);
};

}  // namespace reprise
