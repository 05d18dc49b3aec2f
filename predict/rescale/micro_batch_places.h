// Where nodes are in a rank's program once its micro-batches are more or fewer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "predict/rescale/micro_batches.h"
#include "predict/rescale/repetition.h"

namespace reprise {

// Nodes with the same work as one of a part are counted from there on, forwards and backwards: the
// first one micro-batch before, the second, and so on.
class MicroBatchPlaces : public Repetition {
 public:
  // `found` must outlive it.
  MicroBatchPlaces(const MicroBatches& found, std::int64_t more);

  // Bad input: outside of the parts, passes come in another order than in them (pipelines in a V do
  // so), by the forward nodes that backward ones name. Nodes counted from there on are of other
  // layers then.
  [[nodiscard]] Status CheckOrder(const Graph& graph) const;

  [[nodiscard]] std::optional<std::size_t> PartsOf(std::uint32_t place) const override;

 private:
  [[nodiscard]] std::optional<std::uint32_t> MainOnePartBefore(std::uint32_t main) const override;
  // Nothing: the micro-batch that it would be of is left out, or there is none.
  [[nodiscard]] std::optional<RepeatedPlace> RelatedMain(const RepeatedPlace& from,
                                                         std::uint32_t to,
                                                         Relation relation) const override;

  // Of main places whose work a part has.
  struct Occurrence {
    std::size_t parts = 0;
    std::int64_t part = 0;    // −1: of the last recorded part, 0: of what comes after it
    std::int64_t offset = 0;  // among the same work of a part
  };
  [[nodiscard]] std::optional<Occurrence> OccurrenceOf(std::uint32_t place) const;
  [[nodiscard]] std::optional<std::uint32_t> PlaceOf(std::uint32_t work,
                                                     const Occurrence& of) const;
  // By how many parts a node's micro-batch is later than the one of the node that it is or copies,
  // as what it refers to sees it, which is of these parts.
  [[nodiscard]] std::int64_t LaterThan(const RepeatedPlace& one, std::size_t parts,
                                       Relation relation) const;

  // By work: of its places in the last part how many there are, and how many before these.
  struct Work {
    std::uint32_t in_part = 0, before = 0;
    std::size_t parts = 0;
  };
  std::vector<Work> works_;
};

}  // namespace reprise
