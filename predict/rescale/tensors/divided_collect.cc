// DividedTensors: what the nodes show.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "predict/rescale/tensors/divided_tensors.h"
#include "predict/rescale/tensors/each_tensor.h"
#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {
namespace {

// Operators between a product and the sum of its parts.
constexpr int kFurthestProduct = 12;

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

// The buffer in which a gather's result, or what a scatter takes, has the members' parts.
void DividedTensors::FindWholes(const Node& node) {
  const bool gathers = node.comm->kind == CommKind::kAllGather;
  for (const TensorDesc* const part : TensorsIn(gathers ? node.inputs : node.outputs)) {
    for (const ValueList* const values : {&node.inputs, &node.outputs}) {
      ForEachTensor(*values, [&](const TensorDesc& whole) {
        const std::size_t dims = part->shape.size();
        const bool by_rank = whole.shape.size() == dims + 1 && whole.shape[0] == division_.from;
        if (whole.elements == part->elements * division_.from && HasStorage(whole) &&
            HasStorage(*part) && (by_rank || whole.shape.size() == dims)) {
          wholes_.push_back({*part, whole, gathers, node.id, NumberOfOp(OperatorOf(node))});
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

// Follows a sum back to the products that it is of.
void DividedTensors::SeedSums(const Node& node) {
  std::vector<std::size_t> open;
  ForEachTensor(node.inputs, [&](const TensorDesc& tensor) {
    const auto written = last_written_.find(tensor.incarnation);
    if (tensor.elements > 1 && written != last_written_.end()) {
      open.push_back(written->second);
    }
  });
  std::set<std::size_t> seen(open.begin(), open.end());
  for (int depth = 0; depth < kFurthestProduct && !open.empty(); ++depth) {
    std::vector<std::size_t> next;
    for (const std::size_t at : open) {
      const Written& one = written_[at];
      if (one.summed) {
        seeds_.insert(*one.summed);
        continue;
      }
      std::ranges::copy_if(one.from, std::back_inserter(next),
                           [&seen](std::size_t from) { return seen.insert(from).second; });
    }
    open = std::move(next);
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
    const bool is_part = same.joined || tensor.elements == elements;
    if (same.keeps_sums && is_part && before != last_written_.end()) {
      written.from.push_back(before->second);
    }
  });
  ForEachTensor(node.outputs, [&](const TensorDesc& tensor) {
    last_written_[tensor.incarnation] = written_.size();
  });
  written_.push_back(std::move(written));
}

void DividedTensors::Collect(const Node& node, AmongWhom whom, const DividedAmong& group) {
  const bool among = whom == AmongWhom::kDividing;
  for (const ValueList* const values : {&node.inputs, &node.outputs}) {
    ForEachTensor(*values, [this](const TensorDesc& tensor) {
      if (HasStorage(tensor)) {
        storages_[tensor.incarnation].Add(tensor);
      }
    });
  }
  const bool parts = among && (node.comm->kind == CommKind::kAllGather ||
                               node.comm->kind == CommKind::kReduceScatter);
  if (!experts_) {
    if (among && IsReduction(node.comm->kind)) {
      SeedSums(node);
    }
    if (parts) {
      FindWholes(node);
    }
    lists_.Collect(node);
  }
  const bool shares =
      node.comm && !among &&
      (node.comm->kind == CommKind::kAllGather || node.comm->kind == CommKind::kReduceScatter);
  if (shares) {
    const bool gathers = node.comm->kind == CommKind::kAllGather;
    ForEachTensor(gathers ? node.inputs : node.outputs, [&](const TensorDesc& tensor) {
      if (const auto place = PlaceOf(tensor, 0)) {
        shares_.push_back({*place, group});
      }
    });
  }
  const OpCall call{OperatorOf(node), node.inputs, node.outputs};
  if (experts_) {
    experts_->Collect(node, call, among);
  }
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
    if (same.joined == i) {
      joins_.push_back(related_.size());
    }
    if (same.summed == i) {
      summed = related_.size();
    }
    if (same.groups == i && experts_) {
      seeds_.insert(related_.size());
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
    if (same.heads == i) {
      heads_.push_back(related_.size());
      for (const TensorDimension& one : same.all[i]) {
        related.laid_like.push_back(one.laid_like == nullptr ? std::nullopt
                                                             : PlaceOf(*one.laid_like, one.dim));
      }
    }
    related_.push_back(std::move(related));
  }
  CollectHeads(node, same, op);
  RelateTable(call, node.id, op);
  if (!same.known && !(experts_ && (same.groups || same.rows_by_numbers))) {
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

}  // namespace reprise
