// The rules that the column `cost` of core/operators.def names. Each takes a call of one of its
// operators, and gives nothing where the arguments are none that it describes.
#pragma once

#include <optional>

#include "costs/cost.h"

namespace reprise::cost_rules {

using Rule = std::optional<Cost> (*)(const OpCall&);
inline constexpr Rule None = nullptr;  // NOLINT: the table's word

// products.cc
std::optional<Cost> Product(const OpCall& call);
std::optional<Cost> ActivatedProduct(const OpCall& call);
std::optional<Cost> Convolution(const OpCall& call);
// attention.cc
std::optional<Cost> Attention(const OpCall& call);
// elementwise.cc
std::optional<Cost> Elementwise(const OpCall& call);
std::optional<Cost> Where(const OpCall& call);
std::optional<Cost> Glu(const OpCall& call);
std::optional<Cost> GluBackward(const OpCall& call);
std::optional<Cost> PreluBackward(const OpCall& call);
std::optional<Cost> ForEach(const OpCall& call);
// norms.cc
std::optional<Cost> LayerNorm(const OpCall& call);
std::optional<Cost> LayerNormBackward(const OpCall& call);
std::optional<Cost> RmsNorm(const OpCall& call);
std::optional<Cost> RmsNormBackward(const OpCall& call);
std::optional<Cost> BatchNorm(const OpCall& call);
std::optional<Cost> BatchNormBackward(const OpCall& call);
std::optional<Cost> Softmax(const OpCall& call);
std::optional<Cost> SoftmaxBackward(const OpCall& call);
// reductions.cc
std::optional<Cost> Reduction(const OpCall& call);
std::optional<Cost> Extremum(const OpCall& call);
std::optional<Cost> VectorNorm(const OpCall& call);
std::optional<Cost> Moments(const OpCall& call);
std::optional<Cost> LogSumExp(const OpCall& call);
std::optional<Cost> Scan(const OpCall& call);
std::optional<Cost> Bincount(const OpCall& call);
std::optional<Cost> Sort(const OpCall& call);
std::optional<Cost> Search(const OpCall& call);
// losses.cc
std::optional<Cost> NllLoss(const OpCall& call);
std::optional<Cost> NllLossBackward(const OpCall& call);
std::optional<Cost> PointwiseLoss(const OpCall& call);
// indexing.cc
std::optional<Cost> Embedding(const OpCall& call);
std::optional<Cost> EmbeddingBackward(const OpCall& call);
std::optional<Cost> EmbeddingBag(const OpCall& call);
std::optional<Cost> EmbeddingBagBackward(const OpCall& call);
std::optional<Cost> Select(const OpCall& call);
std::optional<Cost> Put(const OpCall& call);
std::optional<Cost> PutAlong(const OpCall& call);
std::optional<Cost> Nonzero(const OpCall& call);
std::optional<Cost> MaskedScatter(const OpCall& call);
// moves.cc
std::optional<Cost> Move(const OpCall& call);
std::optional<Cost> ReadAndWrite(const OpCall& call);
std::optional<Cost> SplitCopy(const OpCall& call);
std::optional<Cost> GatherCopyIn(const OpCall& call);
std::optional<Cost> FoldBack(const OpCall& call);
std::optional<Cost> Sequence(const OpCall& call);
std::optional<Cost> Random(const OpCall& call);
std::optional<Cost> Dropout(const OpCall& call);
// images.cc
std::optional<Cost> Pool(const OpCall& call);
std::optional<Cost> Upsample(const OpCall& call);
std::optional<Cost> GridSample(const OpCall& call);
// optimizers.cc
std::optional<Cost> Adam(const OpCall& call);
std::optional<Cost> Sgd(const OpCall& call);
std::optional<Cost> Unscale(const OpCall& call);
std::optional<Cost> UpdateScale(const OpCall& call);

}  // namespace reprise::cost_rules
