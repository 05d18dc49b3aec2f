// A rank's nodes with more or fewer micro-batches or layers than were recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/rescale/layer_places.h"
#include "predict/rescale/repetition.h"

namespace reprise {

class RepeatedNodes {
 public:
  // `rank`: whose trace it is. `layers`: the places, where the parts are layers. The others must
  // outlive this. Bad input: arguments that cannot be decoded; as LayerTensors has it.
  [[nodiscard]] static Result<RepeatedNodes> Create(const Graph& graph, const Repetition& places,
                                                    const LayerPlaces* layers, std::int32_t rank);
  RepeatedNodes(RepeatedNodes&&) noexcept;
  ~RepeatedNodes();

  // Steps and ranges at their new times. What was sampled or measured of whole steps is left out.
  [[nodiscard]] TraceMetadata Header() const;
  // By start. A new node is a copy of one at the same place of a recorded part; recorded parts come
  // in turn, so that their spread stays. What it waits for, reads and writes is as many parts
  // before it as with the recorded one. Durations and delays stay. Bad input: a node that waits for
  // one that is left out; as LayerTensors has it. `resized`: it works on more or fewer tensors, or
  // on larger or smaller ones.
  [[nodiscard]] Status ForEach(const std::function<Status(Node& node, bool resized)>& visit);

 private:
  struct Impl;
  explicit RepeatedNodes(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
