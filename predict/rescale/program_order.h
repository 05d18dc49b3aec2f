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
class ProgramOrder {
 public:
  std::vector<Graph::Index> nodes;   // by place in the order
  std::vector<std::uint32_t> place;  // by node
  std::vector<bool> launched;        // by place: another node launched it
  // Places but those of further pieces of a call on the host. How many pieces a call has depends on
  // when the transfers that it waits for end.
  std::vector<std::uint32_t> main;
  std::vector<bool> apart;             // by place; see SetApart
  std::vector<std::uint32_t> main_of;  // by place: itself, or that of its call's first piece
  // By place. Nodes of one number do the same in the same step: operation, arguments' shapes,
  // actor, transfer.
  std::vector<std::uint32_t> work;
  std::uint32_t works = 0;  // numbers are below

  [[nodiscard]] std::uint32_t MainCount() const { return static_cast<std::uint32_t>(main.size()); }
  // By index in `main`. MainCount() has the place after all.
  [[nodiscard]] std::uint32_t PlaceOf(std::uint32_t at) const {
    return at < main.size() ? main[at] : static_cast<std::uint32_t>(nodes.size());
  }
  [[nodiscard]] Graph::Index NodeOf(std::uint32_t at) const { return nodes[main[at]]; }
  [[nodiscard]] std::uint32_t WorkOf(std::uint32_t at) const { return work[main[at]]; }

  // From a place on, what a step does is no more the same as before it.
  void Divide(const Graph& graph, std::int32_t step, std::uint32_t from);

  // Takes transfers out of `main` that a step has less often than so many layers: buckets of
  // gradients are summed when they are full, wherever in a layer that is.
  void SetApart(const Graph& graph, std::int64_t layers);

  // Sizes: whether equal nodes have the same shapes and bytes; experts' differ
  // from one micro-batch to the next. Bad input: arguments that cannot be decoded.
  enum class Sizes : std::uint8_t { kEqual, kAny };
  [[nodiscard]] static Result<ProgramOrder> Of(const Graph& graph, Sizes sizes);

 private:
  void FindPieces(const Graph& graph);
};

}  // namespace reprise
