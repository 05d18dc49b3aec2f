// Products and attention.
#include "predict/rescale/tensors/related_dimensions.h"

namespace reprise {

// (…, m, k) × (…, k, n) → (…, m, n), or rows (n, k) of a layer.
void RelatedDimensions::Product() {
  const TensorDesc* const a = places_.Tensor(call_, "a");
  const TensorDesc* const rows = places_.Tensor(call_, "rows");
  const TensorDesc* const b = rows != nullptr ? rows : places_.Tensor(call_, "b");
  const TensorDesc* const y = call_.OutputTensor(0);
  if (places_.Has("ends")) {
    return Groups();
  }
  if (a == nullptr || b == nullptr || y == nullptr) {
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

void RelatedDimensions::Groups() {
  SameDimension groups;
  Put(groups, places_.Tensor(call_, "ends"), 0);
  for (const TensorDesc* const tensor : Direct()) {
    if (!groups.empty() && tensor->shape.size() == 3) {
      Put(groups, tensor, 0);
    }
  }
  if (groups.size() > 1) {
    found_.groups = found_.all.size();
    Same(std::move(groups));
  }
  Unknown();
}

void RelatedDimensions::Attention() {
  const TensorDesc* const q = places_.Tensor(call_, "q");
  const TensorDesc* const k = places_.Tensor(call_, "k");
  const TensorDesc* const v = places_.Tensor(call_, "v");
  if (q == nullptr || k == nullptr || v == nullptr || q->shape.size() < 3) {
    return Unknown();
  }
  const std::int64_t heads = places_.Has("tokens_first") ? -2 : -3;
  const std::int64_t tokens = places_.Has("tokens_first") ? -3 : -2;
  const bool backward = places_.Has("out_grad");
  // Queries, results and their gradients; keys and values with theirs. Results lie as what they are
  // of.
  struct Laid {
    const TensorDesc* tensor = nullptr;
    const TensorDesc* like = nullptr;
  };
  std::vector<Laid> of_queries = {{q}}, of_keys = {{k}, {v}};
  for (const std::string_view place : {"out_grad", "out"}) {
    if (const TensorDesc* const tensor = places_.Tensor(call_, place)) {
      of_queries.push_back({tensor, place == "out" ? q : nullptr});
    }
  }
  of_queries.push_back({call_.OutputTensor(0), q});
  if (backward) {
    of_keys.push_back({call_.OutputTensor(1), k});
    of_keys.push_back({call_.OutputTensor(2), v});
  }
  const TensorDesc* const sums = backward ? places_.Tensor(call_, "lse") : call_.OutputTensor(1);
  SameDimension batch, head, query, key;
  for (const auto& [tensor, like] : of_queries) {
    Put(batch, tensor, -4);
    PutHeads(head, tensor, heads, like);
    Put(query, tensor, tokens);
  }
  for (const auto& [tensor, like] : of_keys) {
    Put(batch, tensor, -4);
    PutHeads(head, tensor, heads, like);
    Put(key, tensor, tokens);
  }
  if (sums != nullptr && sums->shape.size() >= 2) {
    const std::int64_t last = sums->shape.back() == 1 && sums->shape.size() > 3 ? -2 : -1;
    Put(query, sums, last);
    PutHeads(head, sums, last - 1);
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
  found_.heads = found_.all.size() + 1;
  for (SameDimension* const same : {&batch, &head, &query, &key}) {
    Same(std::move(*same));
  }
}

}  // namespace reprise
