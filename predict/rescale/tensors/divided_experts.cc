// DividedTensors: what expert-parallel ranks divide.
#include <fmt/format.h>

#include <algorithm>

#include "predict/rescale/tensors/divided_tensors.h"

namespace reprise {

using TensorShape = std::vector<std::int64_t>;

void DividedTensors::Seed(std::int64_t storage, std::size_t tensor, std::size_t dim) {
  seeds_.insert(related_.size());
  related_.push_back({{{storage, tensor, dim}}, 0, 0});
}

// The tokens of all experts, one rank's after another's, of which a tensor may show those of one.
Status DividedTensors::PlaceCounts(std::int64_t storage) {
  DividedLayout& layout = storages_.at(storage);
  const std::int64_t local = experts_->local();
  const TensorShape all = {local * division_.from}, own = {local},
                    by_rank = {division_.from, local};
  std::vector<std::size_t> divided;
  bool has_all = false;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    const TensorShape& shape = layout.ShapeOf(tensor);
    has_all = has_all || shape == all;
    if (shape == own || shape == by_rank) {
      divided.push_back(tensor);
    }
  }
  if (!has_all || divided.empty()) {
    return {};  // numbers of something else, or of all experts alone
  }
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    const TensorShape& shape = layout.ShapeOf(tensor);
    if (shape != all && shape != own && shape != by_rank) {
      return BadInput(fmt::format(
          "a tensor [{}] shows how many tokens {} experts get, {} of them on each rank: what its "
          "shape is at {} expert-parallel ranks is not known",
          fmt::join(shape, ", "), all[0], local, division_.to));
    }
  }
  layout.JoinCells();
  layout.PlaceParts(local, division_.from);
  for (const std::size_t tensor : divided) {
    Seed(storage, tensor, layout.ShapeOf(tensor).size() - 1);
  }
  return {};
}

// Numbers of tokens that each rank sends: as many parts as ranks.
Status DividedTensors::PlaceGathered(const ExpertSeeds::Gathered& gathered) {
  const auto& [part, whole] = gathered;
  DividedLayout& layout = storages_.at(whole.incarnation);
  const TensorShape all = {part.elements * division_.from};
  const TensorShape by_rank = {division_.from, part.elements};
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    const TensorShape& shape = layout.ShapeOf(tensor);
    if (shape != all && shape != by_rank) {
      return BadInput(fmt::format(
          "a tensor [{}] shows numbers of tokens that {} ranks gathered, {} of each: what its "
          "shape is at {} expert-parallel ranks is not known",
          fmt::join(shape, ", "), division_.from, part.elements, division_.to));
    }
  }
  layout.JoinCells();
  layout.PlaceParts(part.elements, division_.from);
  return {};
}

Status DividedTensors::PlaceExperts() {
  REPRISE_TRY(experts_->Check(division_, replicas_.from));
  std::set<std::int64_t> by_rank;  // storages with a part for each rank
  for (const std::int64_t storage : experts_->counts()) {
    REPRISE_TRY(PlaceCounts(storage));
    by_rank.insert(storage);
  }
  for (const ExpertSeeds::Gathered& gathered : experts_->gathered()) {
    REPRISE_TRY(PlaceGathered(gathered));
    by_rank.insert(gathered.whole.incarnation);
  }
  for (const auto& [x, y] : experts_->sums()) {
    if (by_rank.contains(x.incarnation) && x.shape[0] == division_.from) {
      ranks_.push_back(*PlaceOf(y, 0));
    }
  }
  for (const TensorDesc& own : experts_->own()) {
    if (own.elements == experts_->local()) {
      Seed(own.incarnation, storages_.at(own.incarnation).NumberOf(own), 0);
    }
  }
  for (const auto& [table, numbers, node, op] : experts_->tables()) {
    related_.push_back({{*PlaceOf(table, 0), *PlaceOf(numbers, 0)}, node, NumberOfOp(op)});
  }
  return {};
}

}  // namespace reprise
