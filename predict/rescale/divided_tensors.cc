#include "predict/rescale/divided_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <utility>

#include "predict/rescale/changed_sizes.h"
#include "predict/rescale/each_tensor.h"
#include "predict/rescale/shard_nodes.h"

namespace reprise {
namespace {

// Operators between a product and the sum of its parts.
constexpr int kFurthestProduct = 12;

constexpr std::array<std::string_view, 6> kComparesIds = {"aten::lt", "aten::ge",  "aten::gt",
                                                          "aten::le", "aten::sub", "aten::sub_"};

bool HasStorage(const TensorDesc& tensor) { return tensor.IsDefined() && !tensor.shape.empty(); }

}  // namespace

std::size_t DividedTensors::NumberOfOp(const std::string& op) {
  const auto [known, added] = number_of_op_.try_emplace(op, ops_.size());
  if (added) {
    ops_.push_back(op);
  }
  return known->second;
}

std::optional<DividedTensors::Place> DividedTensors::PlaceOf(const TensorDesc& tensor,
                                                             std::size_t dim) {
  if (!HasStorage(tensor)) {
    return std::nullopt;
  }
  return Place{tensor.incarnation, storages_[tensor.incarnation].Add(tensor), dim};
}

// The dimension in which a gather's result, or what a scatter takes, has the members' parts.
void DividedTensors::RelateParts(const Node& node) {
  const bool gathers = node.comm->kind == CommKind::kAllGather;
  const std::size_t op = NumberOfOp(OperatorOf(node));
  const auto relate = [&](const TensorDesc& part, const TensorDesc& whole) {
    if (HasStorage(whole)) {
      wholes_.push_back({whole.incarnation, part.shape, node.id, op});
    }
    const bool stacked = whole.shape.size() == part.shape.size() + 1;
    if (stacked) {
      if (const auto ranks = PlaceOf(whole, 0)) {
        ranks_.push_back(*ranks);
      }
    }
    for (std::size_t dim = 0; dim < part.shape.size(); ++dim) {
      const std::size_t of_whole = stacked ? dim + 1 : dim;
      const auto place = PlaceOf(part, dim), other = PlaceOf(whole, of_whole);
      if (!place || !other) {
        continue;
      }
      const bool divided = whole.shape[of_whole] == part.shape[dim] * division_.from;
      if (divided) {
        seeds_.insert(related_.size());
        related_.push_back({{*place}, node.id, op});
      } else {
        related_.push_back({{*place, *other}, node.id, op});
      }
    }
  };
  for (const TensorDesc* const part : TensorsIn(gathers ? node.inputs : node.outputs)) {
    for (const ValueList* const values : {&node.inputs, &node.outputs}) {
      ForEachTensor(*values, [&](const TensorDesc& whole) {
        const std::size_t dims = part->shape.size();
        const bool stacked = whole.shape.size() == dims + 1 && whole.shape[0] == division_.from;
        if (whole.elements == part->elements * division_.from &&
            (stacked || whole.shape.size() == dims)) {
          relate(*part, whole);
        }
      });
    }
  }
}

// A table and its gradient, which the same ids count.
void DividedTensors::RelateTable(const OpCall& call, std::uint64_t node, std::size_t op) {
  const TensorDesc* const ids = call.InputTensor(1);
  const bool reads = call.name == "aten::embedding";
  if (ids == nullptr || (!reads && call.name != "aten::embedding_dense_backward")) {
    return;
  }
  const TensorDesc* const table = reads ? call.InputTensor(0) : call.OutputTensor(0);
  const auto rows = table == nullptr ? std::nullopt : PlaceOf(*table, 0);
  if (!rows) {
    return;
  }
  if (reads) {
    table_of_[ids->incarnation] = *rows;
  } else if (const auto of = table_of_.find(ids->incarnation); of != table_of_.end()) {
    related_.push_back({{of->second, *rows}, node, op});
  }
}

void DividedTensors::SeedSums(const Node& node) {
  ForEachTensor(node.inputs, [this](const TensorDesc& tensor) {
    const auto written = last_written_.find(tensor.incarnation);
    if (tensor.elements > 1 && written != last_written_.end()) {
      SeedSummed(written->second, 0);
    }
  });
}

// Follows a sum back to the product that it is of.
void DividedTensors::SeedSummed(std::size_t written, int depth) {
  const Written& one = written_[written];
  if (one.summed) {
    seeds_.insert(*one.summed);
  } else if (depth < kFurthestProduct) {
    for (const std::size_t from : one.from) {
      SeedSummed(from, depth + 1);
    }
  }
}

void DividedTensors::Write(const Node& node, const SameDimensions& same,
                           std::optional<std::size_t> summed) {
  Written written{.summed = summed, .from = {}};
  std::int64_t elements = 0;
  ForEachTensor(node.outputs, [&elements](const TensorDesc& tensor) {
    elements = std::max(elements, tensor.elements);
  });
  ForEachTensor(node.inputs, [&](const TensorDesc& tensor) {
    const auto before = last_written_.find(tensor.incarnation);
    if (same.keeps_sums && tensor.elements == elements && before != last_written_.end()) {
      written.from.push_back(before->second);
    }
  });
  ForEachTensor(node.outputs, [&](const TensorDesc& tensor) {
    last_written_[tensor.incarnation] = written_.size();
  });
  written_.push_back(std::move(written));
}

void DividedTensors::Collect(const Node& node, bool among) {
  for (const ValueList* const values : {&node.inputs, &node.outputs}) {
    ForEachTensor(*values, [this](const TensorDesc& tensor) {
      if (HasStorage(tensor)) {
        storages_[tensor.incarnation].Add(tensor);
      }
    });
  }
  const bool parts = among && (node.comm->kind == CommKind::kAllGather ||
                               node.comm->kind == CommKind::kReduceScatter);
  if (among && IsReduction(node.comm->kind)) {
    SeedSums(node);
  }
  if (parts) {
    RelateParts(node);
  }
  const bool shares =
      node.comm && !among &&
      (node.comm->kind == CommKind::kAllGather || node.comm->kind == CommKind::kReduceScatter);
  if (shares) {
    const bool gathers = node.comm->kind == CommKind::kAllGather;
    ForEachTensor(gathers ? node.inputs : node.outputs, [this](const TensorDesc& tensor) {
      if (const auto place = PlaceOf(tensor, 0)) {
        shares_.push_back(*place);
      }
    });
  }
  const OpCall call{OperatorOf(node), node.inputs, node.outputs};
  const SameDimensions same = parts ? SameDimensions() : SameDimensionsOf(node, call);
  const std::size_t op = NumberOfOp(call.name);
  std::optional<std::size_t> summed;
  for (std::size_t i = 0; i < same.all.size(); ++i) {
    Related related{{}, node.id, op};
    for (const TensorDimension& one : same.all[i]) {
      if (const auto place = PlaceOf(*one.tensor, one.dim)) {
        related.places.push_back(*place);
      }
    }
    if (related.places.empty()) {
      continue;
    }
    if (same.summed == i) {
      summed = related_.size();
    }
    if (std::ranges::find(same.whole, i) != same.whole.end()) {
      whole_.push_back(related_.size());
    }
    if (same.summed == i && node.op_class == OpClass::kGemm) {
      sums_.push_back(related_.size());
    }
    if (same.counted == i) {
      vocabularies_.push_back(related_.size());
    }
    related_.push_back(std::move(related));
  }
  RelateTable(call, node.id, op);
  if (!same.known) {
    Related tensors{{}, node.id, op};
    for (const ValueList* const values : {&node.inputs, &node.outputs}) {
      ForEachTensor(*values, [&](const TensorDesc& tensor) {
        for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
          if (const auto place = PlaceOf(tensor, dim)) {
            tensors.places.push_back(*place);
          }
        }
      });
    }
    unknown_.push_back(std::move(tensors));
  }
  if (node.kind == OpKind::kWork || node.comm) {
    Write(node, same, summed);
  }
}

bool DividedTensors::IsDivided(const Related& related) const {
  return std::ranges::any_of(related.places, [this](const Place& place) {
    return storages_.at(place.storage).IsDivided(place.tensor, place.dim);
  });
}

// First all dimensions of ranks: where they are known, what joins them with their parts is not
// divided.
void DividedTensors::PlaceAllRanks() {
  std::deque<std::size_t> open;
  const auto place_ranks = [&](const Place& place) {
    DividedLayout& layout = storages_.at(place.storage);
    if (!layout.IsFlat(place.tensor) && !layout.IsOfRanks(place.tensor, place.dim)) {
      layout.PlaceRanks(place.tensor, place.dim);
      const std::vector<std::size_t>& next = related_of_[place.storage];
      open.insert(open.end(), next.begin(), next.end());
    }
  };
  std::ranges::for_each(ranks_, place_ranks);
  while (!open.empty()) {
    const Related& related = related_[open.front()];
    open.pop_front();
    if (std::ranges::any_of(related.places, [this](const Place& place) {
          return storages_.at(place.storage).IsOfRanks(place.tensor, place.dim);
        })) {
      std::ranges::for_each(related.places, place_ranks);
    }
  }
}

Status DividedTensors::DivideAll() {
  std::deque<std::size_t> open(seeds_.begin(), seeds_.end());
  while (!open.empty()) {
    const std::size_t at = open.front();
    const Related& related = related_[at];
    open.pop_front();
    if (!seeds_.contains(at) && !IsDivided(related)) {
      continue;
    }
    for (const Place& place : related.places) {
      DividedLayout& layout = storages_.at(place.storage);
      if (layout.IsFlat(place.tensor) || layout.IsDivided(place.tensor, place.dim)) {
        continue;
      }
      if (!layout.Divide(place.tensor, place.dim, division_)) {
        return BadInput(fmt::format(
            "node {} ({}): dimension {} of a tensor [{}] is divided among {} ranks, and {} ranks "
            "can't divide it, or others of its storage, alike",
            related.node, ops_[related.op], place.dim,
            fmt::join(layout.ShapeOf(place.tensor), ", "), division_.from, division_.to));
      }
      const std::vector<std::size_t>& next = related_of_[place.storage];
      open.insert(open.end(), next.begin(), next.end());
    }
  }
  return {};
}

// Buffers of several tensors, one behind the other, have as many elements as these; what is
// computed from them has, too: an optimizer's states, shares of data-parallel ranks.
void DividedTensors::SpreadSizes() {
  std::deque<std::size_t> open(related_.size());
  std::iota(open.begin(), open.end(), 0);
  while (!open.empty()) {
    const Related& related = related_[open.front()];
    open.pop_front();
    std::int64_t before = 0, after = 0;
    for (const Place& place : related.places) {
      const DividedLayout& layout = storages_.at(place.storage);
      const auto elements = layout.ElementsAfter(place.tensor, division_);
      if (elements) {
        before = layout.ShapeOf(place.tensor)[place.dim];
        after = *elements;
      }
    }
    for (const Place& place : related.places) {
      DividedLayout& layout = storages_.at(place.storage);
      if (before == after || layout.HasElements() || !layout.IsVector()) {
        continue;
      }
      const std::int64_t own = layout.ShapeOf(place.tensor)[place.dim];
      if (own * after % before == 0) {
        layout.SetElements(own * after / before);
        const std::vector<std::size_t>& next = related_of_[place.storage];
        open.insert(open.end(), next.begin(), next.end());
      }
    }
  }
}

// What was of one size still is, what an operator needs whole is, and where it sums what ranks
// divide, they sum its results.
Status DividedTensors::CheckRelated() const {
  for (const std::size_t at : whole_) {
    if (IsDivided(related_[at])) {
      const Place& place = related_[at].places[0];
      return BadInput(fmt::format(
          "node {} ({}): dimension {} of a tensor [{}] would be divided, which the operator needs "
          "whole; with one head for each rank, it is not known which tensors have a head more",
          related_[at].node, ops_[related_[at].op], place.dim,
          fmt::join(storages_.at(place.storage).ShapeOf(place.tensor), ", ")));
    }
  }
  for (const std::size_t at : sums_) {
    if (!seeds_.contains(at) && IsDivided(related_[at])) {
      return BadInput(fmt::format(
          "node {} ({}): it sums what tensor-parallel ranks divide, and no transfer that is known "
          "sums their results",
          related_[at].node, ops_[related_[at].op]));
    }
  }
  for (const Related& related : related_) {
    std::map<std::int64_t, std::int64_t> after;  // by size before
    for (const Place& place : related.places) {
      const DividedLayout& layout = storages_.at(place.storage);
      const std::int64_t before = layout.ShapeOf(place.tensor)[place.dim];
      const auto size = layout.SizeAfter(place.tensor, place.dim, division_);
      if (!size || after.try_emplace(before, *size).first->second != *size) {
        return BadInput(fmt::format(
            "node {} ({}): dimension {} of a tensor [{}] belongs to others that change their size, "
            "and its own at {} tensor-parallel ranks is not known",
            related.node, ops_[related.op], place.dim,
            fmt::join(layout.ShapeOf(place.tensor), ", "), division_.to));
      }
    }
  }
  return {};
}

Status DividedTensors::Solve() {
  for (auto& [storage, layout] : storages_) {
    layout.EndAdding();
  }
  for (const Whole& whole : wholes_) {
    if (storages_.at(whole.storage).HasNext(whole.part)) {
      return BadInput(fmt::format(
          "node {} ({}): the ranks' parts [{}] are joined along another dimension than the first: "
          "a list of other length is not known",
          whole.node, ops_[whole.op], fmt::join(whole.part, ", ")));
    }
  }
  if (seeds_.empty()) {
    return BadInput(
        "no transfer among tensor-parallel ranks says which tensors they divide: no gather or "
        "scatter, and no sum of a product whose operator is known");
  }
  for (std::size_t i = 0; i < related_.size(); ++i) {
    for (const Place& place : related_[i].places) {
      std::vector<std::size_t>& all = related_of_[place.storage];
      if (all.empty() || all.back() != i) {
        all.push_back(i);
      }
    }
  }
  for (const Place& share : shares_) {
    storages_.at(share.storage).SetShare(share.tensor);
  }
  PlaceAllRanks();
  REPRISE_TRY(DivideAll());
  SpreadSizes();
  REPRISE_TRY(CheckRelated());
  for (const Related& one : unknown_) {
    if (IsDivided(one)) {
      return BadInput(
          fmt::format("node {} ({}): it works on a tensor that tensor-parallel ranks divide, in a "
                      "way that is not known of this operator",
                      one.node, ops_[one.op]));
    }
  }
  for (const std::size_t at : vocabularies_) {
    if (IsDivided(related_[at])) {
      const Place& place = related_[at].places[0];
      rows_.insert(storages_.at(place.storage).ShapeOf(place.tensor)[place.dim]);
    }
  }
  return {};
}

// Ids of a vocabulary that ranks divide: the first one of each part.
bool DividedTensors::ChangeRows(Node& node) const {
  const std::string& name = OperatorOf(node);
  const auto* const ids = node.inputs.empty() ? nullptr : node.inputs[0].AsTensor();
  if (ids == nullptr || std::ranges::find(kComparesIds, name) == kComparesIds.end() ||
      (ids->dtype != DType::kInt64 && ids->dtype != DType::kInt32) || node.inputs.size() < 2) {
    return false;
  }
  auto* const bound = std::get_if<std::int64_t>(&node.inputs[1].data);
  for (const std::int64_t rows : rows_) {
    if (bound != nullptr && *bound > 0 && *bound % rows == 0) {
      *bound = *bound / rows * (rows * division_.from / division_.to);
      return true;
    }
  }
  return false;
}

Result<bool> DividedTensors::Change(Node& node) const {
  const ValueList inputs = node.inputs, outputs = node.outputs;
  bool changed = false;
  const TensorDesc* impossible = nullptr;
  for (ValueList* const values : {&node.inputs, &node.outputs}) {
    ChangeEachTensor(*values, [&](TensorDesc& tensor) {
      const auto storage = storages_.find(tensor.incarnation);
      if (!HasStorage(tensor) || storage == storages_.end()) {
        return;
      }
      const TensorDesc before = tensor;
      if (!storage->second.Resize(tensor, division_)) {
        impossible = &tensor;
      }
      changed = changed || tensor != before;
    });
  }
  if (impossible != nullptr) {
    return BadInput(
        fmt::format("node {} ({}): a tensor [{}] at element {} of a divided storage: "
                    "where it lies among {} ranks is not known",
                    node.id, OperatorOf(node), fmt::join(impossible->shape, ", "),
                    impossible->offset, division_.to));
  }
  if (changed) {
    ChangeSizesAmongArguments(node, inputs, outputs);
  } else if (!rows_.empty()) {
    changed = ChangeRows(node);
  }
  return changed;
}

}  // namespace reprise
