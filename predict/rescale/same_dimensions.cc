#include "predict/rescale/same_dimensions.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/operator_arguments.h"
#include "predict/rescale/shard_nodes.h"

namespace reprise {
namespace {

using Tensors = std::vector<const TensorDesc*>;

class RelatedDimensions {
 public:
  RelatedDimensions(const Node& node, const OpCall& call)
      : node_(node), call_(call), places_(ArgumentPlaces::Of(call.name)) {}

  SameDimensions Find() {
    if (node_.comm) {
      Transfer();
    } else if (node_.kind == OpKind::kWork) {
      Work();
    }
    return std::move(found_);
  }

 private:
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
  void Aligned(const Tensors& tensors, std::int64_t except = 0) {
    std::size_t rank = 0;
    for (const TensorDesc* const tensor : tensors) {
      rank = std::max(rank, tensor->shape.size());
    }
    for (std::int64_t place = -1; place >= -static_cast<std::int64_t>(rank); --place) {
      SameDimension all;
      for (const TensorDesc* const tensor : tensors) {
        Put(all, tensor, place);
      }
      std::int64_t size = 0;
      for (const TensorDimension& one : all) {
        size = std::max(size, one.tensor->shape[one.dim]);
      }
      std::erase_if(
          all, [size](const TensorDimension& one) { return one.tensor->shape[one.dim] != size; });
      if (place != except && all.size() > 1) {
        Same(std::move(all));
      }
    }
  }
  [[nodiscard]] Tensors AllOf(const ValueList& values) const {
    Tensors tensors;
    for (const Value& value : values) {
      if (const TensorDesc* const tensor = value.AsTensor()) {
        tensors.push_back(tensor);
      }
    }
    return tensors;
  }
  [[nodiscard]] Tensors Direct() const {
    Tensors tensors = AllOf(call_.inputs);
    const Tensors results = AllOf(call_.outputs);
    tensors.insert(tensors.end(), results.begin(), results.end());
    return tensors;
  }

  void Work() {
    const std::string_view name = call_.name;
    if (name == "aten::cat" || name == "aten::stack") {
      Joined(name == "aten::stack");
    } else if (name == "aten::embedding") {
      Embedding();
    } else if (name == "aten::embedding_dense_backward") {
      EmbeddingBackward();
    } else if (name == "aten::nll_loss_forward" || name == "aten::nll_loss_backward") {
      Losses();
    } else if (name == "aten::gather" || name.starts_with("aten::scatter") ||
               name.starts_with("aten::index_add") || name == "aten::index_select") {
      Along(name);
    } else if (name == "aten::index") {
      Indexed();
    } else if (name.starts_with("fsdp::") || IsCopyOut(node_)) {
      Unknown();  // whole parameters of parts that other ranks divide
    } else if (name == "aten::bincount") {
      // Each result counts among all ids.
    } else {
      ByClass();
    }
  }

  void ByClass() {
    switch (node_.op_class) {
      case OpClass::kGemm:
        return Product();
      case OpClass::kAttention:
        return Attention();
      case OpClass::kReduction:
        return Reduction();
      case OpClass::kElementwise:
      case OpClass::kCopy:
      case OpClass::kFill:
      case OpClass::kMemcpy:
      case OpClass::kRandom:
      case OpClass::kSort:
      case OpClass::kOptimizer:
      case OpClass::kNorm:
      case OpClass::kSoftmax:
        return ElementByElement();
      case OpClass::kLoss:
        return Losses();
      default:
        return Unknown();
    }
  }

  void ElementByElement() {
    for (const Tensors& together : TogetherIn(call_.inputs, call_.outputs)) {
      Aligned(together);
    }
    found_.keeps_sums = node_.op_class != OpClass::kNorm && node_.op_class != OpClass::kSoftmax;
  }

  // (…, m, k) × (…, k, n) → (…, m, n), or rows (n, k) of a layer.
  void Product() {
    const TensorDesc* const a = places_.Tensor(call_, "a");
    const TensorDesc* const rows = places_.Tensor(call_, "rows");
    const TensorDesc* const b = rows != nullptr ? rows : places_.Tensor(call_, "b");
    const TensorDesc* const y = call_.OutputTensor(0);
    if (a == nullptr || b == nullptr || y == nullptr || places_.Has("ends")) {
      return Unknown();
    }
    const TensorDesc* addend = places_.Tensor(call_, "addend");
    addend = addend == nullptr ? places_.Tensor(call_, "bias") : addend;
    // Scales of blocks: of (m, k) and of (n, k).
    const bool is_scaled = call_.name == "aten::_scaled_mm";
    const TensorDesc* const scale_a = is_scaled ? call_.InputTensor(2) : nullptr;
    const TensorDesc* const scale_b = is_scaled ? call_.InputTensor(3) : nullptr;
    SameDimension k;
    Put(k, a, -1);
    for (const TensorDesc* const scale : {scale_a, scale_b}) {
      if (scale != nullptr && scale->shape.size() == 2) {
        Put(k, scale, -1);
      }
    }
    if (b->shape.size() == 1) {  // a vector
      Put(k, b, 0);
    } else {
      Put(k, b, rows != nullptr ? -1 : -2);
      SameDimension n;
      Put(n, b, rows != nullptr ? -2 : -1);
      Put(n, y, -1);
      Put(n, addend, -1);
      if (scale_b != nullptr && scale_b->shape.size() == 2) {
        Put(n, scale_b, -2);
      }
      Same(std::move(n));
    }
    Summed(std::move(k));
    // All dimensions of a but the last one, from the result's first one on.
    for (std::int64_t dim = 0; dim + 1 < static_cast<std::int64_t>(a->shape.size()); ++dim) {
      const bool batch = dim + 2 < static_cast<std::int64_t>(a->shape.size());
      SameDimension m;
      Put(m, a, dim);
      Put(m, y, dim);
      if (scale_a != nullptr && scale_a->shape.size() == 2) {
        Put(m, scale_a, dim);
      }
      if (batch && rows == nullptr && b->shape.size() == a->shape.size()) {
        Put(m, b, dim);
      }
      if (addend != nullptr && addend->shape.size() == y->shape.size()) {
        Put(m, addend, dim);
      }
      Same(std::move(m));
    }
  }

  void Attention() {
    const TensorDesc* const q = places_.Tensor(call_, "q");
    const TensorDesc* const k = places_.Tensor(call_, "k");
    const TensorDesc* const v = places_.Tensor(call_, "v");
    if (q == nullptr || k == nullptr || v == nullptr || q->shape.size() < 3) {
      return Unknown();
    }
    const std::int64_t heads = places_.Has("tokens_first") ? -2 : -3;
    const std::int64_t tokens = places_.Has("tokens_first") ? -3 : -2;
    const bool backward = places_.Has("out_grad");
    // Queries, results and their gradients; keys and values with theirs.
    Tensors of_queries = {q}, of_keys = {k, v};
    for (const std::string_view place : {"out_grad", "out"}) {
      if (const TensorDesc* const tensor = places_.Tensor(call_, place)) {
        of_queries.push_back(tensor);
      }
    }
    if (backward) {
      of_queries.push_back(call_.OutputTensor(0));
      of_keys.push_back(call_.OutputTensor(1));
      of_keys.push_back(call_.OutputTensor(2));
    } else {
      of_queries.push_back(call_.OutputTensor(0));
    }
    const TensorDesc* const sums = backward ? places_.Tensor(call_, "lse") : call_.OutputTensor(1);
    SameDimension batch, head, query, key;
    for (const TensorDesc* const tensor : of_queries) {
      Put(batch, tensor, -4);
      Put(head, tensor, heads);
      Put(query, tensor, tokens);
    }
    for (const TensorDesc* const tensor : of_keys) {
      Put(batch, tensor, -4);
      Put(head, tensor, heads);
      Put(key, tensor, tokens);
    }
    if (sums != nullptr && sums->shape.size() >= 2) {
      const std::int64_t last = sums->shape.back() == 1 && sums->shape.size() > 3 ? -2 : -1;
      Put(query, sums, last);
      Put(head, sums, last - 1);
      Put(batch, sums, last - 2);
    }
    if (const TensorDesc* const mask = places_.Tensor(call_, "mask")) {
      const auto as_large = [&](std::int64_t dim, SameDimension& same) {
        SameDimension own;
        Put(own, mask, dim);
        if (!own.empty() && !same.empty() &&
            mask->shape[own[0].dim] == same[0].tensor->shape[same[0].dim]) {
          same.push_back(own[0]);
        }
      };
      as_large(-4, batch);
      as_large(-3, head);
      as_large(-2, query);
      as_large(-1, key);
    }
    SameDimension features, values;
    for (const TensorDesc* const tensor : {q, k}) {
      Put(features, tensor, -1);
    }
    Put(values, v, -1);
    for (SameDimension* const same : {&features, &values}) {
      found_.whole.push_back(found_.all.size());
      Same(std::move(*same));
    }
    for (SameDimension* const same : {&batch, &head, &query, &key}) {
      Same(std::move(*same));
    }
  }

  // Dimensions that are left stay in their order, or all of them do, of one element.
  void Reduction() {
    const TensorDesc* const x = call_.InputTensor(0);
    const TensorDesc* const y = call_.OutputTensor(0);
    if (x == nullptr || y == nullptr) {
      return ElementByElement();  // of lists
    }
    std::vector<std::int64_t> dims = call_.InputInts(1);
    const auto rank = static_cast<std::int64_t>(x->shape.size());
    const auto reduced = [&](std::int64_t dim) {
      return dims.empty() || std::ranges::any_of(dims, [&](std::int64_t one) {
               return (one < 0 ? one + rank : one) == dim;
             });
    };
    std::int64_t kept = 0;
    SameDimension summed;
    for (std::int64_t dim = 0; dim < rank; ++dim) {
      const bool same_rank = y->shape.size() == x->shape.size();
      if (reduced(dim)) {
        Put(summed, x, dim);
      } else {
        SameDimension same;
        Put(same, x, dim);
        Put(same, y, same_rank ? dim : kept);
        Same(std::move(same));
        ++kept;
      }
    }
    if (summed.size() == 1) {
      Summed(std::move(summed));
    }
  }

  void Joined(bool stacked) {
    const std::vector<const TensorDesc*> parts = call_.InputTensors(0);
    const TensorDesc* const y = call_.OutputTensor(0);
    if (parts.empty() || y == nullptr || y->shape.empty()) {
      return Unknown();
    }
    const auto rank = static_cast<std::int64_t>(y->shape.size());
    const std::int64_t given = call_.Argument(1).AsNumber<std::int64_t>(0);
    const std::int64_t joined = given < 0 ? given + rank : given;
    for (std::int64_t dim = 0; dim < rank; ++dim) {
      if (stacked && dim == joined) {
        continue;
      }
      SameDimension same;
      Put(same, y, dim);
      for (const TensorDesc* const part : parts) {
        Put(same, part, stacked && dim > joined ? dim - 1 : dim);
      }
      // One behind the other, of buffers: each is divided by itself.
      if (rank > 1) {
        if (dim == joined) {
          found_.joined = found_.all.size();
        }
        Same(std::move(same));
      }
    }
    found_.keeps_sums = true;
  }

  void Embedding() {
    const TensorDesc* const weight = call_.InputTensor(0);
    const TensorDesc* const ids = call_.InputTensor(1);
    const TensorDesc* const y = call_.OutputTensor(0);
    if (weight == nullptr || ids == nullptr || y == nullptr) {
      return Unknown();
    }
    SameDimension features, rows;
    Put(features, weight, 1);
    Put(features, y, -1);
    Same(std::move(features));
    Put(rows, weight, 0);
    found_.counted = found_.all.size();
    Summed(std::move(rows));
    IdsAndRows(ids, y);
  }
  void EmbeddingBackward() {
    const TensorDesc* const gradient = call_.InputTensor(0);
    const TensorDesc* const ids = call_.InputTensor(1);
    const TensorDesc* const y = call_.OutputTensor(0);
    if (gradient == nullptr || ids == nullptr || y == nullptr) {
      return Unknown();
    }
    SameDimension features;
    Put(features, gradient, -1);
    Put(features, y, 1);
    Same(std::move(features));
    IdsAndRows(ids, gradient);
  }
  void IdsAndRows(const TensorDesc* ids, const TensorDesc* rows) {
    for (std::size_t dim = 0; dim < ids->shape.size(); ++dim) {
      SameDimension same;
      Put(same, ids, static_cast<std::int64_t>(dim));
      Put(same, rows, static_cast<std::int64_t>(dim));
      Same(std::move(same));
    }
  }

  // Samples come first.
  void Losses() {
    if (call_.name.find("nll_loss") == std::string::npos) {
      return ElementByElement();
    }
    SameDimension samples;
    for (const TensorDesc* const tensor : Direct()) {
      Put(samples, tensor, 0);
    }
    std::erase_if(samples, [&](const TensorDimension& one) {
      return one.tensor->shape[0] != samples[0].tensor->shape[0];
    });
    Same(std::move(samples));
  }

  // All dimensions but the one along which the operator picks, whose index and result share it.
  void Along(std::string_view name) {
    const TensorDesc* const x = call_.InputTensor(0);
    const TensorDesc* const index = call_.InputTensor(2);
    if (x == nullptr || index == nullptr || x->shape.empty()) {
      return Unknown();
    }
    const auto rank = static_cast<std::int64_t>(x->shape.size());
    const std::int64_t given = call_.Argument(1).AsNumber<std::int64_t>(0);
    const std::int64_t along = given < 0 ? given : given - rank;
    Tensors others;  // with the picked dimension, in full rank
    const bool writes = name != "aten::gather" && name != "aten::index_select";
    const TensorDesc* const y = writes ? call_.InputTensor(3) : call_.OutputTensor(0);
    Tensors whole = {x};
    if (writes && call_.OutputTensor(0) != nullptr) {
      whole.push_back(call_.OutputTensor(0));
    }
    const bool by_rows = index->shape.size() < x->shape.size();
    if (!by_rows) {
      others.push_back(index);
    }
    if (y != nullptr) {
      others.push_back(y);
    }
    Tensors all = whole;
    all.insert(all.end(), others.begin(), others.end());
    Aligned(all, along);
    SameDimension picked, whole_dim;
    for (const TensorDesc* const tensor : others) {
      Put(picked, tensor, along);
    }
    if (by_rows) {
      Put(picked, index, 0);
    }
    Same(std::move(picked));
    for (const TensorDesc* const tensor : whole) {
      Put(whole_dim, tensor, along);
    }
    found_.counted = found_.all.size();
    Same(std::move(whole_dim));
  }

  // Rows of x: what follows the first dimension stays.
  void Indexed() {
    const TensorDesc* const x = call_.InputTensor(0);
    const TensorDesc* const y = call_.OutputTensor(0);
    const std::vector<const TensorDesc*> indices = call_.InputTensors(1);
    if (x == nullptr || y == nullptr || indices.size() != 1) {
      return Unknown();
    }
    const TensorDesc* const index = indices[0];
    for (std::size_t dim = 1; dim < x->shape.size(); ++dim) {
      const auto behind =
          static_cast<std::int64_t>(dim) - static_cast<std::int64_t>(x->shape.size());
      SameDimension same;
      Put(same, x, behind);
      Put(same, y, behind);
      Same(std::move(same));
    }
    for (std::size_t dim = 0; dim < index->shape.size(); ++dim) {
      SameDimension same;
      Put(same, index, static_cast<std::int64_t>(dim));
      Put(same, y, static_cast<std::int64_t>(dim));
      Same(std::move(same));
    }
  }

  // What one member puts in and what it gets, where both have as many dimensions; the gathered or
  // scattered one has another size.
  void Transfer() {
    for (const Tensors& together : TogetherIn(call_.inputs, call_.outputs)) {
      if (together.empty()) {
        continue;
      }
      const std::size_t rank = together[0]->shape.size();
      for (std::size_t dim = 0; dim < rank; ++dim) {
        SameDimension same;
        for (const TensorDesc* const tensor : together) {
          if (tensor->shape.size() == rank) {
            Put(same, tensor, static_cast<std::int64_t>(dim));
          }
        }
        Same(std::move(same));
      }
    }
    found_.keeps_sums = true;
  }

  const Node& node_;
  const OpCall& call_;
  const ArgumentPlaces& places_;
  SameDimensions found_;
};

}  // namespace

SameDimensions SameDimensionsOf(const Node& node, const OpCall& call) {
  return RelatedDimensions(node, call).Find();
}

}  // namespace reprise
