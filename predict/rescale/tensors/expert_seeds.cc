#include "predict/rescale/tensors/expert_seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/operator_arguments.h"
#include "predict/rescale/tensors/each_tensor.h"
#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {
namespace {

bool CountsTokens(const TensorDesc& tensor) {
  return tensor.dtype == DType::kInt64 || tensor.dtype == DType::kInt32;
}

bool IsVectorOfNumbers(const TensorDesc* tensor) {
  return tensor != nullptr && tensor->shape.size() == 1 && CountsTokens(*tensor);
}

bool AllAlike(const std::vector<std::int64_t>& numbers) {
  return std::ranges::adjacent_find(numbers, std::not_equal_to<>()) == numbers.end();
}

}  // namespace

void ExpertSeeds::Refuse(const Node& node, const std::string& why) {
  if (!refused_) {
    refused_ = Error{ErrorKind::kBadInput,
                     fmt::format("node {} ({}, {}): {}", node.id, node.name,
                                 node.comm ? Name(node.comm->kind) : "no transfer", why)};
  }
}

void ExpertSeeds::CollectExchange(const Node& node) {
  const CommSpec& spec = *node.comm;
  const std::vector<const TensorDesc*> sent = TensorsIn(node.inputs), got = TensorsIn(node.outputs);
  if (!AllAlike(spec.in_splits) || !AllAlike(spec.out_splits) || spec.in_bytes != spec.out_bytes) {
    return Refuse(node,
                  "its parts are of different sizes, so experts get different numbers of tokens: "
                  "how many each gets is not in the set; --ep takes sets with even routing, as "
                  "`reprise generate --routing balanced` makes them");
  }
  if (sent.size() != 1 || got.size() != 1 || sent[0]->shape.empty() || got[0]->shape.empty()) {
    return Refuse(node, "it has no tensors: how many tokens each expert gets is not known");
  }
  for (const TensorDesc* const tensor : {sent[0], got[0]}) {
    if (IsVectorOfNumbers(tensor)) {
      counts_.insert(tensor->incarnation);
    }
    exchanges_.push_back({node.id, node.name, tensor->shape[0]});
  }
}

void ExpertSeeds::CollectTransfer(const Node& node) {
  if (node.comm->kind == CommKind::kAllToAll) {
    return CollectExchange(node);
  }
  const std::vector<const TensorDesc*> parts = TensorsIn(node.inputs),
                                       all = TensorsIn(node.outputs);
  const bool of_counts = node.comm->kind == CommKind::kAllGather && parts.size() == 1 &&
                         all.size() == 1 && IsVectorOfNumbers(parts[0]) &&
                         IsVectorOfNumbers(all[0]);
  if (!of_counts) {
    return Refuse(node,
                  "it is neither an exchange of tokens among expert-parallel ranks nor a gather of "
                  "their numbers: what it would move among others is not known");
  }
  counts_.insert(parts[0]->incarnation);
  gathered_.push_back({*parts[0], *all[0]});
}

void ExpertSeeds::CollectWork(const Node& node, const OpCall& call) {
  const std::string_view name = call.name;
  const TensorDesc* const x = call.InputTensor(0);
  const TensorDesc* const y = call.OutputTensor(0);
  if (const TensorDesc* const ends = ArgumentPlaces::Of(name).Tensor(call, "ends")) {
    local_.try_emplace(ends->elements, node.id);
    return;
  }
  if (x == nullptr) {
    return;
  }
  const TensorDesc* const index = call.InputTensor(2);
  if (name == "aten::repeat_interleave" && y != nullptr) {
    for (const TensorDesc* const operand : {x, call.InputTensor(1)}) {
      const auto repeated =
          operand == nullptr ? repeated_.end() : repeated_.find(operand->incarnation);
      if (repeated != repeated_.end()) {
        own_.push_back(repeated->second);
      }
    }
    if (IsVectorOfNumbers(x)) {
      owners_[y->incarnation] = *x;
    }
  } else if ((name == "aten::index_select" || name.starts_with("aten::index_add")) &&
             index != nullptr && call.Argument(1).AsNumber<std::int64_t>(-1) == 0) {
    if (const auto of = owners_.find(index->incarnation); of != owners_.end()) {
      tables_.push_back({*x, of->second, node.id, std::string(name)});
    }
  } else if (name == "aten::bincount" && IsVectorOfNumbers(y)) {
    counts_.insert(y->incarnation);
  } else if (name == "aten::repeat" && IsVectorOfNumbers(x) && IsVectorOfNumbers(y)) {
    repeated_[y->incarnation] = *x;
  } else if (name == "aten::sum" && CountsTokens(*x) && x->shape.size() == 2 && y != nullptr &&
             y->shape.size() == 1 && y->shape[0] == x->shape[0]) {
    sums_.push_back({*x, *y});
  }
}

void ExpertSeeds::Collect(const Node& node, const OpCall& call, bool among) {
  if (among) {
    CollectTransfer(node);
  } else if (node.kind == OpKind::kWork && !node.comm) {
    CollectWork(node, call);
  }
}

Status ExpertSeeds::Check(const DividedAmong& division, std::int64_t replicas) const {
  if (refused_) {
    return tl::unexpected(*refused_);
  }
  if (local_.empty()) {
    return BadInput(
        "no grouped product (aten::_grouped_mm) computes all experts of a rank at once: with "
        "separate products, or none, which operators another number of experts adds is not known; "
        "--ep takes models with grouped experts (\"grouped_experts\" of a generated job)");
  }
  const auto& [local, node] = *local_.begin();
  if (local_.size() > 1) {
    return BadInput(fmt::format(
        "nodes {} and {}: grouped products of {} and {} experts: --ep takes as many everywhere",
        node, local_.rbegin()->second, local, local_.rbegin()->first));
  }
  const std::int64_t experts = local * division.from;
  std::vector<std::int64_t> possible;
  for (std::int64_t ranks = 2; ranks <= experts / 2; ++ranks) {
    const std::int64_t all = division.from * replicas;
    if (experts % ranks == 0 && all % ranks == 0 && ranks < all && ranks != division.from) {
      possible.push_back(ranks);
    }
  }
  const std::string numbers =
      possible.empty() ? "no other number does" : fmt::format("give {}", fmt::join(possible, ", "));
  if (local == 1) {
    return BadInput(fmt::format(
        "node {}: each rank has one expert, and does not sort its tokens by expert: these "
        "operators, which other numbers of ranks need, are not in the set",
        node));
  }
  if (experts % division.to != 0) {
    return BadInput(
        fmt::format("--ep {}: it does not divide {} experts; {}", division.to, experts, numbers));
  }
  if (experts == division.to) {
    return BadInput(fmt::format(
        "--ep {}: each rank would have one expert, and would not sort tokens by expert as those of "
        "this set do; {}",
        division.to, numbers));
  }
  for (const Exchange& one : exchanges_) {
    if (one.rows % experts != 0) {
      return BadInput(fmt::format(
          "node {} ({}): {} rows are no equal shares of {} experts: how many rows other numbers of "
          "ranks exchange is not known; --ep takes sets with even routing",
          one.node, one.name, one.rows, experts));
    }
  }
  return {};
}

}  // namespace reprise
