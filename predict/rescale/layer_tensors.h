// What nodes outside all layers name of them: lists of tensors, and flat buffers.
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
#include "predict/rescale/layer_buffers.h"
#include "predict/rescale/layer_places.h"
#include "predict/rescale/moved_tensors.h"

namespace reprise {

// Optimizers name the parameters of all layers, and their gradients, in lists; reducers and
// optimizers that divide their states put them into flat buffers. With more layers lists and
// buffers are longer, with fewer shorter.
class LayerTensors {
 public:
  // The others must outlive it.
  LayerTensors(const Graph& graph, const LayerPlaces& places, MovedTensors& moved);

  // The node at the next place.
  void Add(const OpCall& call);
  // After all nodes. Bad input: a list with tensors of all layers in an order that is not known; as
  // LayerBuffers has it.
  [[nodiscard]] Status End();

  // A node's tensors in the result. True: they have other sizes, or are more or fewer. In the order
  // in which nodes start. Bad input: as LayerBuffers::Move has it.
  [[nodiscard]] Result<bool> Change(const RepeatedPlace& one, Node& node);

 private:
  // Where a list names each layer's tensors: `block` of each layer from `begin` on.
  struct Stretch {
    std::size_t begin = 0, block = 0;
    bool from_first = true;
  };
  struct ListNode {
    std::uint32_t place = 0;
    std::vector<std::vector<NamedTensor>> lists;
    std::map<std::size_t, std::vector<Stretch>> stretches;  // by length of the list
  };
  void AddLists(std::uint32_t place, const ValueList& values, ListNode& lists);
  [[nodiscard]] std::optional<std::int64_t> LayerOf(const NamedTensor& tensor) const;
  // By index in lists of that length; -1: of no layer.
  [[nodiscard]] std::vector<std::int64_t> LayersOf(const ListNode& node, std::size_t length) const;
  bool Spread(const ListNode& node);
  Status FindStretches(ListNode& node);

  Status ChangeList(const RepeatedPlace& one, const Node& node,
                    const std::vector<Stretch>& stretches, ValueList& list);
  void Pack(const ValueList& before, ValueList& after) const;
  TensorDesc TensorOfLayer(const std::vector<const TensorDesc*>& layers, std::int64_t to);
  [[nodiscard]] std::int64_t IdOfLayer(MovedIds& moved, const std::vector<std::int64_t>& ids,
                                       std::int64_t to) const;
  // Of a list whose tensors are put together: elements before and after.
  [[nodiscard]] std::pair<std::size_t, std::size_t> SizesOf(
      const std::vector<NamedTensor>& list, const std::vector<Stretch>& stretches) const;
  bool Resize(const std::map<std::size_t, std::size_t>& lengths, Node& node);
  Result<bool> ChangeValues(const RepeatedPlace& one, const ListNode* lists, Node& node,
                            ValueList& values);

  const Graph& graph_;
  const LayerPlaces& places_;
  MovedTensors& moved_;
  std::uint32_t nodes_ = 0;  // so far
  std::unordered_map<std::uint32_t, ListNode> lists_;
  std::unordered_map<std::int64_t, std::int64_t> layer_in_lists_;  // by storage
  LayerBuffers buffers_;
  // One-dimensional tensors with an element for each tensor of a list: by storage, how many.
  std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>> sizes_;
};

}  // namespace reprise
