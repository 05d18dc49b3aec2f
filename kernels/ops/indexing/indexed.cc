#include "kernels/ops/indexing/indexed.h"

#include <algorithm>
#include <iterator>

namespace reprise {

Result<Integers> Indexed::Positions(const HostBindings& memory) const {
  Integers positions(static_cast<std::size_t>(count), 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    REPRISE_ASSIGN(const Integers index, ReadIntegers(*indices[i], memory));
    for (std::size_t j = 0; j < positions.size(); ++j) {
      positions[j] = positions[j] * extents[i] + InRange(index[j], extents[i]);
    }
  }
  return positions;
}

IndexRows Indexed::Job(RowLowering& rows) const {
  IndexRows job;
  job.batch = batch;
  job.table_rows = table_rows;
  job.count = count;
  job.width = width;
  job.index_type = indices.front()->dtype;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    job.index.at(i) = rows.Read(*indices[i]);
    job.extents.at(i) = extents[i];
  }
  std::fill(job.index.begin() + std::ssize(indices), job.index.end(), job.index[0]);
  return job;
}

std::optional<Indexed> IndexedBy(const TensorDesc& self, const Value& indices) {
  const ValueList* list = indices.AsList();
  if (list == nullptr || list->size() > self.shape.size()) {
    return std::nullopt;
  }
  Indexed indexed;
  Dims before;
  Dims after;
  for (std::size_t d = 0; d < self.shape.size(); ++d) {
    const TensorDesc* index = IndexAt(*list, d);
    const std::int64_t extent = self.shape[d];
    if (index == nullptr) {
      (indexed.indices.empty() ? before : after).push_back(extent);
      (indexed.indices.empty() ? indexed.batch : indexed.width) *= extent;
      continue;
    }
    if (!after.empty() || !IsIndexType(index->dtype) || extent == 0) {
      return std::nullopt;  // indices apart from each other, or a mask
    }
    indexed.indices.push_back(index);
    indexed.extents.push_back(extent);
    indexed.table_rows *= extent;
  }
  if (indexed.indices.empty() || indexed.indices.size() > IndexRows::kMaxIndices) {
    return std::nullopt;
  }
  const TensorDesc& first = *indexed.indices.front();
  for (const TensorDesc* index : indexed.indices) {
    if (index->shape != first.shape || index->dtype != first.dtype) {
      return std::nullopt;
    }
  }
  indexed.count = Count(first);
  indexed.rows_shape = before;
  indexed.rows_shape.insert(indexed.rows_shape.end(), first.shape.begin(), first.shape.end());
  indexed.rows_shape.insert(indexed.rows_shape.end(), after.begin(), after.end());
  return indexed;
}

std::optional<Indexed> IndexedDim(const TensorDesc& self, const Value& dim,
                                  const TensorDesc* index) {
  const auto at = WrapDim(dim.AsNumber<std::int64_t>(0), Rank(self));
  if (!at || index == nullptr || index->shape.size() > 1 || !IsIndexType(index->dtype) ||
      ExtentOf(self, *at) == 0) {
    return std::nullopt;
  }
  Indexed indexed;
  indexed.indices = {index};
  indexed.table_rows = ExtentOf(self, *at);
  indexed.extents = {indexed.table_rows};
  indexed.count = Count(*index);
  const AroundDim around = SplitAt(self, *at);
  indexed.batch = around.outer;
  indexed.width = around.inner;
  indexed.rows_shape = Narrowed(self, *at, indexed.count).shape;
  return indexed;
}

const TensorDesc* WriteTarget(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* target = call.name.ends_with('_') ? self : call.OutputTensor(0);
  const bool fits = self != nullptr && target != nullptr && target->shape == self->shape &&
                    target->dtype == self->dtype;
  return fits ? target : nullptr;
}

const TensorDesc* IndexAt(const ValueList& indices, std::size_t d) {
  const TensorDesc* index = d < indices.size() ? indices[d].AsTensor() : nullptr;
  return index != nullptr && index->IsDefined() ? index : nullptr;
}

Indexed IndexedRows(const TensorDesc& index, std::int64_t table_rows, std::int64_t width) {
  Indexed indexed{.indices = {&index}, .extents = {table_rows}};
  indexed.table_rows = table_rows;
  indexed.count = Count(index);
  indexed.width = width;
  indexed.rows_shape = index.shape;
  if (width != 1) {
    indexed.rows_shape.push_back(width);
  }
  return indexed;
}

std::optional<Around> AlongDim(const TensorDesc& table, const TensorDesc& index, const Value& dim) {
  const auto at = WrapDim(dim.AsNumber<std::int64_t>(0), Rank(table));
  if (!at || Rank(table) != Rank(index) || !IsIndexType(index.dtype) || ExtentOf(table, *at) == 0) {
    return std::nullopt;
  }
  if (Narrowed(table, *at, 0).shape != Narrowed(index, *at, 0).shape) {
    return std::nullopt;
  }
  const AroundDim around = SplitAt(table, *at);
  return Around{around.outer, around.extent, ExtentOf(index, *at), around.inner};
}

}  // namespace reprise
