// Buffers that hold all layers' tensors, one after the other: of gradients that are summed, of
// parameters that an optimizer divides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/value.h"
#include "et_schema/graph.h"
#include "et_schema/node.h"
#include "predict/rescale/layer_places.h"

namespace reprise {

// In elements.
struct NamedTensor {
  std::int64_t storage = -1, offset = 0, elements = 0;
  DType dtype = DType::kUnknown;

  [[nodiscard]] static NamedTensor Of(const TensorDesc& tensor) {
    return {tensor.incarnation, tensor.offset, tensor.elements, tensor.dtype};
  }
};

// All elements of a tensor are in its last dimension.
[[nodiscard]] bool IsFlat(const TensorDesc& tensor);
// Of a flat one.
void SetLength(TensorDesc& tensor, std::int64_t elements);

class LayerBuffers {
 public:
  // The others must outlive it.
  LayerBuffers(const Graph& graph, const LayerPlaces& places) : graph_(graph), places_(places) {}

  // What the node at the next place names.
  void Add(std::vector<NamedTensor> named);
  // After all nodes. Bad input: layers are not equally far apart.
  [[nodiscard]] Status End();

  // A tensor is in a buffer.
  [[nodiscard]] bool Has(std::int64_t storage, DType dtype) const {
    return buffers_.contains({storage, dtype});
  }
  // The recorded layer whose tensor it is. Nothing: it is in no buffer, or of no layer.
  [[nodiscard]] std::optional<std::int64_t> LayerOf(const NamedTensor& tensor) const;
  // Where the like of a recorded layer's tensor is for a layer of the result.
  [[nodiscard]] std::int64_t OffsetOf(const TensorDesc& tensor, std::int64_t from,
                                      std::int64_t to) const;
  // Where a node's tensor lies in its buffer, if it is in one; true: it is longer or shorter. Bad
  // input: it holds tensors of some layers, or of all and is not flat.
  Result<bool> Move(const RepeatedPlace& one, const Node& node, TensorDesc& tensor) const;

 private:
  // In elements.
  struct FlatBuffer {
    std::int64_t stride = 0;         // from a layer's tensors to the next layer's
    std::int64_t low = 0, high = 0;  // of all layers' tensors
  };
  // By stride: how many tensors are so far from those of the layer before, and where all are.
  struct Apart {
    std::int64_t tensors = 0, low = 0, high = 0;
    std::uint32_t place = 0;  // of one of them
    bool only_first = true;   // all are of a first part, which may be unlike the others
  };
  using Key = std::pair<std::int64_t, DType>;

  [[nodiscard]] std::int64_t OffsetIn(const FlatBuffer& buffer, std::int64_t offset,
                                      std::int64_t from, std::int64_t to) const;

  const Graph& graph_;
  const LayerPlaces& places_;
  std::vector<std::vector<NamedTensor>> named_;  // by place
  std::map<Key, FlatBuffer> buffers_;
  std::map<Key, std::map<std::int64_t, Apart>> apart_;
};

}  // namespace reprise
