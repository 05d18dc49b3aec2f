// Where nodes are in a rank's program once its layers are more or fewer.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "predict/rescale/layers.h"
#include "predict/rescale/repetition.h"

namespace reprise {

// Layers of the result are counted anew: where a pass goes from the last layer to the first, its
// first part is of the new last one. What a node of a layer refers to is in as many layers before
// or after it as with the recorded one. What is in no part refers to the first layers, or to the
// last ones.
class LayerPlaces : public Repetition {
 public:
  // `found` must outlive it.
  LayerPlaces(const Layers& found, std::int64_t more);

  [[nodiscard]] std::int64_t count_before() const { return found_.count; }
  [[nodiscard]] std::int64_t count_after() const { return found_.count + more(); }
  [[nodiscard]] std::optional<std::size_t> PartsOf(std::uint32_t place) const override;
  [[nodiscard]] std::optional<std::uint32_t> TwinOf(const RepeatedPlace& one) const override;
  [[nodiscard]] std::optional<RepeatedPlace> RelatedLike(const RepeatedPlace& from,
                                                         std::uint32_t twin,
                                                         std::uint32_t to) const override;
  // As recorded. Nothing: the place is in no part.
  [[nodiscard]] std::optional<std::int64_t> LayerOf(std::uint32_t place) const;
  // What is at the same place of another layer of the result. `place` is in a part.
  [[nodiscard]] RepeatedPlace At(std::uint32_t place, std::int64_t layer_after) const;
  // Which layer of the result it is that a node of it is of. Nothing: of none.
  [[nodiscard]] std::optional<std::int64_t> LayerAfter(const RepeatedPlace& one) const;
  // Where lists and buffers have tensors of all layers: whether a layer of the result is a new one
  // there, and which recorded one it is or is made like.
  [[nodiscard]] bool IsNew(std::int64_t layer_after) const;
  [[nodiscard]] std::int64_t SourceLayer(std::int64_t layer_after) const;
  // Of what names a layer as recorded and is in none itself.
  [[nodiscard]] std::int64_t FromNearerEnd(std::int64_t layer) const;

 private:
  [[nodiscard]] std::optional<std::uint32_t> MainOnePartBefore(std::uint32_t main) const override;
  [[nodiscard]] std::optional<RepeatedPlace> RelatedMain(const RepeatedPlace& from,
                                                         std::uint32_t to,
                                                         Relation relation) const override;
  [[nodiscard]] std::optional<Layers::Place> Find(std::uint32_t place) const;
  // Of what comes right before the first part or after the last one, and does what a part does
  // there: where it would be if there were more. Its layer is -1 or the number of layers.
  [[nodiscard]] std::optional<Layers::Place> FindBeside(std::uint32_t place) const;

  const Layers& found_;
  std::vector<std::uint32_t> main_index_;                    // by place, of its main one
  std::unordered_map<std::uint32_t, Layers::Place> beside_;  // by index in main
};

}  // namespace reprise
