// How same_dimensions.h is found, for its own sources alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operator_arguments.h"
#include "predict/rescale/tensors/same_dimensions.h"

namespace reprise {

// Of one node.
class RelatedDimensions {
 public:
  RelatedDimensions(const Node& node, const OpCall& call)
      : node_(node), call_(call), places_(ArgumentPlaces::Of(call.name)) {}

  SameDimensions Find();

 private:
  using Tensors = std::vector<const TensorDesc*>;

  // From the last dimension if `dim` is negative. A tensor without it is left out.
  static void Put(SameDimension& same, const TensorDesc* tensor, std::int64_t dim) {
    if (tensor == nullptr) {
      return;
    }
    const auto rank = static_cast<std::int64_t>(tensor->shape.size());
    const std::int64_t at = dim < 0 ? dim + rank : dim;
    if (at >= 0 && at < rank && tensor->shape[static_cast<std::size_t>(at)] > 1) {
      same.push_back({tensor, static_cast<std::size_t>(at)});
    }
  }
  // Of one element, too; from the last dimension.
  static void PutHeads(SameDimension& same, const TensorDesc* tensor, std::int64_t dim,
                       const TensorDesc* laid_like = nullptr) {
    const auto rank = tensor == nullptr ? 0 : static_cast<std::int64_t>(tensor->shape.size());
    if (dim < 0 && dim + rank >= 0 && tensor->elements > 0) {
      same.push_back({tensor, static_cast<std::size_t>(dim + rank), laid_like});
    }
  }
  // Of those of `tensors` that have one element in that place from the last one on, if all do.
  void SameOne(const Tensors& tensors, std::int64_t place);
  void Same(SameDimension same) { found_.all.push_back(std::move(same)); }
  void Summed(SameDimension same) {
    if (!same.empty()) {
      found_.summed = found_.all.size();
      Same(std::move(same));
    }
  }
  void Unknown() { found_.known = false; }

  // Broadcast against each other: those of the largest size in each place from the last one on, but
  // for `except`, which counts from the last one, too.
  void Aligned(const Tensors& tensors, std::int64_t except = 0);
  [[nodiscard]] Tensors AllOf(const ValueList& values) const;
  [[nodiscard]] Tensors Direct() const;
  void Work();
  void ByClass();
  void ElementByElement();
  // These three in related_products.cc.
  void Product();
  void Attention();
  // Matrices of a grouped product; its other dimensions are not related.
  void Groups();
  // Dimensions that are left stay in their order, or all of them do, of one element.
  void Reduction();
  void Joined(bool stacked);
  void Embedding();
  void EmbeddingBackward();
  void IdsAndRows(const TensorDesc* ids, const TensorDesc* rows);
  // Samples come first.
  void Losses();
  void RunningSum();
  // Entries as often as numbers say.
  void Repeated();
  // All dimensions but the one along which the operator picks, whose index and result share it.
  void Along(std::string_view name);
  // Rows of x: what follows the first dimension stays.
  void Indexed();
  // What one member puts in and what it gets, where both have as many dimensions; the gathered or
  // scattered one has another size.
  void Transfer();

  const Node& node_;
  const OpCall& call_;
  const ArgumentPlaces& places_;
  SameDimensions found_;
};

}  // namespace reprise
