#include "converters/share/audit/shape_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/operator_arguments.h"

namespace reprise {
namespace {

// The most common; of equally common ones the largest. 0: none.
std::int64_t Most(const std::map<std::int64_t, std::uint64_t>& votes) {
  const auto best = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first < b.first;
  });
  return best == votes.end() ? 0 : best->first;
}

void AddFact(std::vector<ShapeFact>& facts, std::string name, std::int64_t value,
             std::string from) {
  if (value > 0) {
    facts.push_back({std::move(name), value, std::move(from)});
  }
}

}  // namespace

void ShapeFacts::AddRank(const TraceMetadata& metadata) {
  rank_ = metadata.rank;
  steps_ = std::max<std::int64_t>(static_cast<std::int64_t>(metadata.steps.size()), 1);
}

void ShapeFacts::Add(const Node& node) {
  if (node.comm) {
    AddTransfer(node);
    return;
  }
  const std::vector<const TensorDesc*> tensors = TensorsIn(node.inputs);
  if (tensors.empty()) {
    return;
  }
  switch (node.op_class) {
    case OpClass::kEmbedding:
      AddEmbedding(tensors);
      break;
    case OpClass::kNorm:
      if (!tensors[0]->shape.empty()) {
        ++hidden_[tensors[0]->shape.back()];
      }
      break;
    case OpClass::kAttention:
      AddAttention(node, tensors);
      break;
    case OpClass::kGemm:
      AddGemm(tensors);
      break;
    case OpClass::kConv:
      if (tensors[0]->shape.size() == 4) {
        ++convolutions_[rank_];
        ++channels_[tensors[0]->shape[1]];
        ++batch_[tensors[0]->shape[0]];
      }
      break;
    default:
      AddOptimizer(node);
  }
}

// A table of vocabulary × hidden and indices of batch × sequence, or a gradient and its indices.
void ShapeFacts::AddEmbedding(const std::vector<const TensorDesc*>& tensors) {
  if (tensors.size() < 2) {
    return;
  }
  const TensorDesc& table = *tensors[0];
  const TensorDesc& indices = *tensors[1];
  if (table.shape.size() == 2 && IsFloating(table.dtype)) {
    ++vocabulary_[table.shape[0]];
    ++hidden_[table.shape[1]];
  }
  if (indices.shape.size() == 2 && IsIntegral(indices.dtype)) {
    ++batch_[indices.shape[0]];
    ++sequence_[indices.shape[1]];
  }
}

// The query: batch × heads × sequence × size of a head, or tokens before heads. A gradient has the
// result's before it, of the same shape.
void ShapeFacts::AddAttention(const Node& node, const std::vector<const TensorDesc*>& tensors) {
  const std::vector<std::int64_t>& shape = tensors[0]->shape;
  if (shape.size() != 4) {
    return;
  }
  const std::string& name = node.op.empty() ? node.name : node.op;
  const std::size_t tokens = ArgumentPlaces::Of(name).Has("tokens_first") ? 1 : 2;
  const std::int64_t heads = shape[3 - tokens];
  ++batch_[shape[0]];
  ++heads_[heads];
  ++sequence_[shape[tokens]];
  ++head_size_[shape[3]];
  ++hidden_[heads * shape[3]];
  ++(name.ends_with("backward") ? attention_gradients_ : attentions_)[rank_];
}

void ShapeFacts::AddGemm(const std::vector<const TensorDesc*>& tensors) {
  std::vector<const TensorDesc*> matrices;
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(matrices),
               [](const TensorDesc* tensor) { return tensor->shape.size() == 2; });
  if (matrices.size() >= 2) {
    const TensorDesc& b = *matrices.back();
    ++gemms_[{b.shape[0], b.shape[1]}];
  }
}

// All parameters of a rank are often one list. What takes a single tensor says nothing.
void ShapeFacts::AddOptimizer(const Node& node) {
  const ValueList* list = node.inputs.empty() ? nullptr : node.inputs[0].AsList();
  if (list == nullptr || list->size() < 2) {
    return;
  }
  std::int64_t elements = 0;
  for (const TensorDesc* tensor : TensorsIn(*list)) {
    elements += tensor->elements;
  }
  parameters_[rank_] = std::max(parameters_[rank_], elements);
}

void ShapeFacts::AddTransfer(const Node& node) {
  ++groups_[node.comm->group][node.comm->kind];
  if (IsPointToPoint(node.comm->kind) && node.comm->peer >= 0) {
    peers_[rank_].insert(node.comm->peer);
  }
}

std::vector<ShapeFact> ShapeFacts::Facts(const TraceSet& set) const {
  std::vector<ShapeFact> facts;
  ModelFacts(facts);
  ParallelFacts(set, facts);
  return facts;
}

// Stages of a pipeline hold different layers, other ranks the same.
std::int64_t ShapeFacts::PerStep(const std::map<std::int32_t, std::uint64_t>& by_rank) const {
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  for (const auto& [rank, count] : by_rank) {
    all += count;
    most = std::max(most, count);
  }
  return static_cast<std::int64_t>(peers_.empty() ? most : all) / steps_;
}

void ShapeFacts::ModelFacts(std::vector<ShapeFact>& facts) const {
  const std::int64_t hidden = Most(hidden_);
  const std::int64_t vocabulary = vocabulary_.empty() ? 0 : vocabulary_.rbegin()->first;
  AddFact(facts, convolutions_.empty() ? "hidden size" : "last dimension of what is normalised",
          hidden, "normalisation, embedding and attention");
  AddFact(facts, "vocabulary", vocabulary, "the largest embedding table");
  AddFact(facts, "attention heads on a rank", Most(heads_), "attention");
  AddFact(facts, "size of a head", Most(head_size_), "attention");
  const bool gradients = !attention_gradients_.empty();
  AddFact(facts, peers_.empty() ? "layers" : "layers times micro-batches",
          PerStep(gradients ? attention_gradients_ : attentions_),
          gradients ? "gradients of attention in a step" : "attention in a step");
  AddFact(facts, "convolutions in a step", PerStep(convolutions_), "forward and backward");
  AddFact(facts, "channels", Most(channels_), "the most common of convolutions");
  AddFact(facts, "batch on a rank", Most(batch_), "embedding, attention, convolution");
  AddFact(facts, "sequence length", Most(sequence_), "embedding and attention");
  std::map<std::int64_t, std::uint64_t> inner;
  for (const auto& [gemm, count] : gemms_) {
    if (gemm.k == hidden && gemm.n != hidden && gemm.n != 3 * hidden && gemm.n != vocabulary) {
      inner[gemm.n] += count;
    }
  }
  AddFact(facts, "feed-forward size on a rank", Most(inner), "matrices of hidden size × this");
  std::int64_t parameters = 0;
  for (const auto& [rank, elements] : parameters_) {
    parameters = std::max(parameters, elements);
  }
  AddFact(facts, "elements of the longest tensor list (parameters of a rank)", parameters,
          "the optimizer's lists");
}

void ShapeFacts::ParallelFacts(const TraceSet& set, std::vector<ShapeFact>& facts) const {
  AddFact(facts, "ranks", set.world_size, "the number of files");
  for (const auto& [id, kinds] : groups_) {
    const std::optional<ProcessGroup> group = set.FindGroup(id);
    std::vector<std::string> used;
    for (const auto& [kind, count] : kinds) {
      used.push_back(fmt::format("{} {}", count, Name(kind)));
    }
    AddFact(facts, fmt::format("ranks of group {}", id),
            group ? static_cast<std::int64_t>(group->ranks.size()) : 1,
            fmt::format("its transfers: {}", fmt::join(used, ", ")));
  }
  AddFact(facts, "ranks that send to each other (pipeline stages)",
          static_cast<std::int64_t>(peers_.size()), "sends and receives");
}

}  // namespace reprise
