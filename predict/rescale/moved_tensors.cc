#include "predict/rescale/moved_tensors.h"

#include <vector>

namespace reprise {
namespace {

std::int64_t MemoryOf(const TensorDesc& tensor) {
  return tensor.storage_id == 0 ? -1 : tensor.storage_id;
}

}  // namespace

void MovedTensors::Add(const OpCall& call) {
  std::vector<std::int64_t> of_storages, of_tensors, of_memories;
  std::size_t inputs = 0;
  for (const ValueList* const values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      of_storages.push_back(tensor->incarnation);
      of_tensors.push_back(tensor->tensor_id);
      of_memories.push_back(MemoryOf(*tensor));
    }
    inputs = values == &call.inputs ? of_storages.size() : inputs;
  }
  storages.Add(of_storages, inputs);
  tensors.Add(of_tensors, inputs);
  memories.Add(of_memories, inputs);
}

void MovedTensors::Make(const RepeatedPlace& copy) {
  for (MovedIds* const ids : {&storages, &tensors, &memories}) {
    ids->Make(copy);
  }
}

void MovedTensors::Move(const RepeatedPlace& one, TensorDesc& tensor) {
  if (!tensor.IsDefined()) {
    return;
  }
  tensor.incarnation = storages.Of(one, tensor.incarnation);
  tensor.tensor_id = tensors.Of(one, tensor.tensor_id);
  tensor.storage_id = tensor.storage_id == 0 ? 0 : memories.Of(one, tensor.storage_id);
}

}  // namespace reprise
