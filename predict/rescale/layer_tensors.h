// What nodes outside all layers name of them: lists of tensors, and buffers that hold all layers'
// tensors one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/node.h"
#include "predict/rescale/layer_places.h"
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

// Optimizers name the parameters of all layers, and their gradients, in lists; reducers and
// optimizers that divide their states put them into flat buffers. With more layers lists and
// buffers are longer, with fewer shorter.
class LayerTensors {
 public:
  // The others must outlive it.
  LayerTensors(const Graph& graph, const LayerPlaces& places, MovedTensors& moved);

  // The node at the next place.
  void Add(const OpCall& call);
  // After all nodes. Bad input: a list with tensors of all layers in an order that is not known, a
  // buffer in which layers are not equally far apart.
  [[nodiscard]] Status End();

  // A node's tensors in the result. True: they have other sizes, or are more or fewer. In the order
  // in which nodes start. Bad input: a part of a buffer that holds some of the layers.
  [[nodiscard]] Result<bool> Change(const RepeatedPlace& one, Node& node);

 private:
  // Where a list names each layer's tensors: `block` of each layer from `begin` on.
  struct Stretch {
    std::size_t begin = 0, block = 0;
    bool from_first = true;
  };
  struct Named {
    std::int64_t storage = -1, offset = 0, elements = 0;
    DType dtype = DType::kUnknown;
  };
  struct ListNode {
    std::uint32_t place = 0;
    std::vector<std::vector<Named>> lists;
    std::map<std::size_t, std::vector<Stretch>> stretches;  // by length of the list
  };
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
  using BufferKey = std::pair<std::int64_t, DType>;

  [[nodiscard]] static Named NamedOf(const TensorDesc& tensor);
  void AddLists(std::uint32_t place, const ValueList& values, ListNode& lists);
  void AddFlat(std::uint32_t place);
  [[nodiscard]] std::optional<std::int64_t> LayerOf(const Named& tensor) const;
  // By index in lists of that length; -1: of no layer.
  [[nodiscard]] std::vector<std::int64_t> LayersOf(const ListNode& node, std::size_t length) const;
  bool Spread(const ListNode& node);
  Status FindStretches(ListNode& node);
  Status FindBuffers();

  Status ChangeList(const RepeatedPlace& one, const Node& node,
                    const std::vector<Stretch>& stretches, ValueList& list);
  void Pack(const ValueList& before, ValueList& after) const;
  TensorDesc TensorOfLayer(const std::vector<const TensorDesc*>& layers, std::int64_t to);
  [[nodiscard]] std::int64_t IdOfLayer(MovedIds& moved, const std::vector<std::int64_t>& ids,
                                       std::int64_t to) const;
  // Where a tensor lies in a flat buffer; true: it is longer or shorter.
  Result<bool> MoveInBuffer(const RepeatedPlace& one, const Node& node, TensorDesc& tensor) const;
  [[nodiscard]] std::int64_t OffsetOf(const FlatBuffer& buffer, std::int64_t offset,
                                      std::int64_t from, std::int64_t to) const;
  // Of a list whose tensors are put together: elements before and after.
  [[nodiscard]] std::pair<std::size_t, std::size_t> SizesOf(
      const std::vector<Named>& list, const std::vector<Stretch>& stretches) const;
  bool Resize(const std::map<std::size_t, std::size_t>& lengths, Node& node);
  Result<bool> ChangeValues(const RepeatedPlace& one, const ListNode* lists, Node& node,
                            ValueList& values);

  const Graph& graph_;
  const LayerPlaces& places_;
  MovedTensors& moved_;
  std::vector<std::vector<Named>> named_;  // by place
  std::unordered_map<std::uint32_t, ListNode> lists_;
  std::unordered_map<std::int64_t, std::int64_t> layer_in_lists_;  // by storage
  std::map<BufferKey, FlatBuffer> buffers_;
  std::map<BufferKey, std::map<std::int64_t, Apart>> apart_;
  // One-dimensional tensors with an element for each tensor of a list: by storage, how many.
  std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>> sizes_;
};

}  // namespace reprise
