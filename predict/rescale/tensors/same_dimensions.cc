#include "predict/rescale/tensors/same_dimensions.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "predict/rescale/tensors/each_tensor.h"
#include "predict/rescale/tensors/related_dimensions.h"
#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {

SameDimensions RelatedDimensions::Find() {
  if (node_.comm) {
    Transfer();
  } else if (node_.kind == OpKind::kWork) {
    Work();
  }
  return std::move(found_);
}

void RelatedDimensions::Aligned(const Tensors& tensors, std::int64_t except) {
  std::size_t rank = 0;
  for (const TensorDesc* const tensor : tensors) {
    rank = std::max(rank, tensor->shape.size());
  }
  for (std::int64_t place = -1; place >= -static_cast<std::int64_t>(rank); --place) {
    SameDimension all;
    if (place != except && rank > 2) {
      SameOne(tensors, place);
    }
    for (const TensorDesc* const tensor : tensors) {
      Put(all, tensor, place);
    }
    const auto numbers = [place](const TensorDimension& one) {  // packed ones count each
      return one.tensor->shape[one.dim] * (place == -1 ? ValuesPerElement(one.tensor->dtype) : 1);
    };
    std::int64_t size = 0;
    for (const TensorDimension& one : all) {
      size = std::max(size, numbers(one));
    }
    std::erase_if(all, [&](const TensorDimension& one) { return numbers(one) != size; });
    if (place != except && all.size() > 1) {
      Same(std::move(all));
    }
  }
}

void RelatedDimensions::SameOne(const Tensors& tensors, std::int64_t place) {
  std::set<const TensorDesc*> results;
  ForEachTensor(call_.outputs, [&results](const TensorDesc& tensor) { results.insert(&tensor); });
  OneElement one;
  for (const bool of_results : {false, true}) {
    for (const TensorDesc* const tensor : tensors) {
      const std::int64_t dim = place + static_cast<std::int64_t>(tensor->shape.size());
      if (dim < 0 || results.contains(tensor) != of_results) {
        continue;
      }
      if (tensor->shape[static_cast<std::size_t>(dim)] != 1) {
        return;
      }
      one.all.push_back({tensor, static_cast<std::size_t>(dim)});
      one.results += of_results ? 0 : 1;
    }
  }
  if (one.results > 0 && one.results < one.all.size()) {
    found_.ones.push_back(std::move(one));
  }
}

RelatedDimensions::Tensors RelatedDimensions::AllOf(const ValueList& values) const {
  Tensors tensors;
  for (const Value& value : values) {
    if (const TensorDesc* const tensor = value.AsTensor()) {
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

RelatedDimensions::Tensors RelatedDimensions::Direct() const {
  Tensors tensors = AllOf(call_.inputs);
  const Tensors results = AllOf(call_.outputs);
  tensors.insert(tensors.end(), results.begin(), results.end());
  return tensors;
}

void RelatedDimensions::Work() {
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
  } else if (name == "aten::cumsum") {
    RunningSum();
  } else if (name == "aten::repeat_interleave") {
    Repeated();
  } else if (name == "aten::bincount") {
    // Each result counts among all ids.
  } else {
    ByClass();
  }
}

void RelatedDimensions::ByClass() {
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

void RelatedDimensions::ElementByElement() {
  for (const Tensors& together : TogetherIn(call_.inputs, call_.outputs)) {
    Aligned(together);
  }
  found_.keeps_sums = node_.op_class != OpClass::kNorm && node_.op_class != OpClass::kSoftmax;
}

void RelatedDimensions::Reduction() {
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
      if (same_rank) {
        SameOne({x, y}, dim - rank);
      }
      ++kept;
    }
  }
  if (summed.size() == 1) {
    Summed(std::move(summed));
  }
}

void RelatedDimensions::Joined(bool stacked) {
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
    const bool one_element = dim != joined && y->shape[static_cast<std::size_t>(dim)] == 1;
    // Of one element, too: it is so of all of them.
    const auto put = [&](const TensorDesc* tensor, std::int64_t at) {
      if (one_element) {
        PutHeads(same, tensor, at - static_cast<std::int64_t>(tensor->shape.size()));
      } else {
        Put(same, tensor, at);
      }
    };
    put(y, dim);
    for (const TensorDesc* const part : parts) {
      put(part, stacked && dim > joined ? dim - 1 : dim);
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

void RelatedDimensions::Embedding() {
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

void RelatedDimensions::EmbeddingBackward() {
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

void RelatedDimensions::IdsAndRows(const TensorDesc* ids, const TensorDesc* rows) {
  for (std::size_t dim = 0; dim < ids->shape.size(); ++dim) {
    SameDimension same;
    Put(same, ids, static_cast<std::int64_t>(dim));
    Put(same, rows, static_cast<std::int64_t>(dim));
    Same(std::move(same));
  }
}

void RelatedDimensions::Losses() {
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

void RelatedDimensions::RunningSum() {
  const TensorDesc* const x = call_.InputTensor(0);
  const TensorDesc* const y = call_.OutputTensor(0);
  if (x == nullptr || y == nullptr) {
    return Unknown();
  }
  Aligned({x, y});
}

void RelatedDimensions::Repeated() {
  const TensorDesc* const x = call_.InputTensor(0);
  const TensorDesc* const times = call_.InputTensor(1);
  found_.rows_by_numbers =
      x != nullptr && times != nullptr && x->shape.size() == 1 && x->shape == times->shape;
  if (found_.rows_by_numbers) {
    Aligned({x, times});
  }
  Unknown();
}

void RelatedDimensions::Along(std::string_view name) {
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

void RelatedDimensions::Indexed() {
  const TensorDesc* const x = call_.InputTensor(0);
  const TensorDesc* const y = call_.OutputTensor(0);
  const std::vector<const TensorDesc*> indices = call_.InputTensors(1);
  if (x == nullptr || y == nullptr || indices.size() != 1) {
    return Unknown();
  }
  const TensorDesc* const index = indices[0];
  for (std::size_t dim = 1; dim < x->shape.size(); ++dim) {
    const auto behind = static_cast<std::int64_t>(dim) - static_cast<std::int64_t>(x->shape.size());
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

void RelatedDimensions::Transfer() {
  for (const Tensors& together : TogetherIn(call_.inputs, call_.outputs)) {
    if (together.empty()) {
      continue;
    }
    const std::size_t rank = together[0]->shape.size();
    const bool of_rank = std::ranges::all_of(
        together, [rank](const TensorDesc* tensor) { return tensor->shape.size() == rank; });
    for (std::size_t dim = 0; dim < rank; ++dim) {
      SameDimension same;
      for (const TensorDesc* const tensor : together) {
        if (tensor->shape.size() == rank) {
          Put(same, tensor, static_cast<std::int64_t>(dim));
        }
      }
      Same(std::move(same));
      if (of_rank) {
        SameOne(together, static_cast<std::int64_t>(dim) - static_cast<std::int64_t>(rank));
      }
    }
  }
  found_.keeps_sums = true;
}

SameDimensions SameDimensionsOf(const Node& node, const OpCall& call) {
  return RelatedDimensions(node, call).Find();
}

}  // namespace reprise
