// Layers found in a rank's trace: where in its program something is done layer by layer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/rescale/program_order.h"
#include "predict/rescale/repetition.h"

namespace reprise {

// Which of the layers is done first.
enum class LayerDirection : std::uint8_t { kFirstToLast, kLastToFirst };

struct Layers {
  ProgramOrder order;
  // By place: forward passes, backward passes, and what an optimizer or a reducer does for one
  // parameter after the other. A part is one layer's, or begins within one and ends within the
  // next.
  std::vector<RepeatedParts> parts;
  std::vector<LayerDirection> directions;  // parallel to parts
  std::int64_t count = 0;                  // of each of these parts
  // Of a pipeline with several chunks of layers on each rank: how many, each of so many layers.
  std::int64_t chunks = 1;

  // By index of `main` in order.main: in which parts it is, and of which layer; layers count from
  // 0. Nothing: it is in none.
  struct Place {
    std::size_t parts = 0;
    std::int64_t part = 0;  // of these, in the program's order
    std::int64_t layer = 0;
    std::uint32_t offset = 0;  // in its part
  };
  [[nodiscard]] std::optional<Place> PlaceOf(std::uint32_t main_index) const;
};

// Layers are alike: the same operators on the same shapes, with parameters of their own. Bad input,
// without the file's name: no forward pass has such parts, one right after the other; what is done
// for each layer elsewhere is not done for as many.
[[nodiscard]] Result<Layers> FindLayers(const Graph& graph);

}  // namespace reprise
