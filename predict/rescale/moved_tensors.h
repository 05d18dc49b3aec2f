// What a rank's tensors are called once parts of its program are more or fewer.
#pragma once

#include "core/value.h"
#include "et_schema/graph.h"
#include "predict/rescale/moved_ids.h"

namespace reprise {

// Storages, tensors and what the capture calls storages.
struct MovedTensors {
  explicit MovedTensors(const Repetition& places)
      : storages(places), tensors(places), memories(places) {}

  void Add(const OpCall& call);
  void Make(const RepeatedPlace& copy);
  void Move(const RepeatedPlace& one, TensorDesc& tensor);

  MovedIds storages, tensors, memories;
};

}  // namespace reprise
