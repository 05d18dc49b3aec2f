#include "kernels/ops/indexing/masked_call.h"

#include "kernels/ops/indexing/indexed.h"

namespace reprise {
namespace {

constexpr std::int64_t kMaxCoordinates = 4;  // of masked.cl

using Kind = MaskedCall::Kind;

bool IsMaskType(DType dtype) { return dtype == DType::kBool || dtype == DType::kUInt8; }

// nonzero(self) -> (count, rank)
std::optional<MaskedCall> ParseNonzero(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  if (self == nullptr || out == nullptr || Rank(*out) != 2 || Rank(*self) < 1 ||
      Rank(*self) > kMaxCoordinates || out->shape[1] != Rank(*self) ||
      out->dtype != DType::kInt64 || !IsKernelType(self->dtype)) {
    return std::nullopt;
  }
  MaskedCall m{.kind = Kind::kPositions, .mask = *self, .rows = *out};
  m.n = Count(*self);
  m.count = out->shape[0];
  return m;
}

// where(condition): nonzero's columns, which are views of one tensor.
std::optional<MaskedCall> ParseWhere(const OpCall& call) {
  const auto columns = TensorsIn(call.outputs);
  const TensorDesc* self = call.InputTensor(0);
  if (call.inputs.size() != 1 || self == nullptr || columns.empty() ||
      static_cast<std::int64_t>(columns.size()) != Rank(*self)) {
    return std::nullopt;
  }
  const TensorDesc& first = *columns.front();
  const std::int64_t step = columns.size() > 1 ? columns[1]->offset - first.offset : 1;
  for (std::size_t d = 0; d < columns.size(); ++d) {
    if (columns[d]->incarnation != first.incarnation || columns[d]->shape != first.shape ||
        columns[d]->strides != first.strides || Rank(first) != 1 ||
        columns[d]->offset != first.offset + static_cast<std::int64_t>(d) * step) {
      return std::nullopt;
    }
  }
  TensorDesc out = first;
  out.shape.push_back(Rank(*self));
  out.strides.push_back(step);
  out.elements = Count(out);
  return ParseNonzero({"aten::nonzero", call.inputs, {{out}}});
}

// masked_select(self, mask): both broadcast.
std::optional<MaskedCall> ParseSelect(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* mask = call.InputTensor(1);
  const TensorDesc* out = call.OutputTensor(0);
  if (self == nullptr || mask == nullptr || out == nullptr || Rank(*out) != 1) {
    return std::nullopt;
  }
  const auto shape = BroadcastShape({self, mask});
  if (!shape || !IsMaskType(mask->dtype) || out->dtype != self->dtype) {
    return std::nullopt;
  }
  MaskedCall m{.kind = Kind::kRead,
               .mask = *Expanded(*mask, *shape),
               .table = *Expanded(*self, *shape),
               .rows = *out};
  m.n = ElementCount(*shape);
  m.count = Count(*out);
  return m;
}

// masked_scatter(self, mask, source): in place the mask broadcasts to self.
std::optional<MaskedCall> ParseMaskedScatter(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* mask = call.InputTensor(1);
  const TensorDesc* source = call.InputTensor(2);
  const TensorDesc* target = WriteTarget(call);
  if (target == nullptr || mask == nullptr || source == nullptr || !IsMaskType(mask->dtype) ||
      target->dtype != source->dtype || Count(*source) == 0) {
    return std::nullopt;
  }
  const auto wide = Expanded(*mask, target->shape);
  if (!wide) {
    return std::nullopt;
  }
  MaskedCall m{.kind = Kind::kScatter, .mask = *wide, .table = *target, .rows = *source};
  m.self = target == self ? nullptr : self;
  m.n = Count(*target);
  m.count = Count(*source);
  return m;
}

// self[..., mask, ...]: the only index is a mask, over the dimensions from its place on.
std::optional<MaskedCall> MaskOf(const TensorDesc& self, const Value& indices) {
  const ValueList* list = indices.AsList();
  if (list == nullptr) {
    return std::nullopt;
  }
  MaskedCall m;
  std::size_t d = 0;
  while (d < list->size() && d < self.shape.size() && IndexAt(*list, d) == nullptr) {
    m.batch *= self.shape[d++];
  }
  const TensorDesc* mask = IndexAt(*list, d);
  if (mask == nullptr || !IsMaskType(mask->dtype) || mask->shape.empty() ||
      d + mask->shape.size() > self.shape.size() ||
      !std::equal(mask->shape.begin(), mask->shape.end(),
                  self.shape.begin() + static_cast<std::ptrdiff_t>(d))) {
    return std::nullopt;
  }
  for (std::size_t i = d + 1; i < list->size(); ++i) {
    if (IndexAt(*list, i) != nullptr) {
      return std::nullopt;
    }
  }
  m.mask = *mask;
  m.n = Count(*mask);
  for (std::size_t i = d + mask->shape.size(); i < self.shape.size(); ++i) {
    m.width *= self.shape[i];
  }
  return m;
}

// How many rows a tensor of batch × count × width elements holds; 0 if it is no such tensor.
std::int64_t RowsIn(const MaskedCall& m, const TensorDesc& rows) {
  const std::int64_t per_row = m.batch * m.width;
  return per_row == 0 || Count(rows) % per_row != 0 ? 0 : Count(rows) / per_row;
}

// index(self, [mask])
std::optional<MaskedCall> ParseIndex(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  if (self == nullptr || out == nullptr || out->dtype != self->dtype) {
    return std::nullopt;
  }
  auto m = MaskOf(*self, call.Argument(1));
  if (!m) {
    return std::nullopt;
  }
  m->kind = Kind::kRead;
  m->table = *self;
  m->rows = *out;
  m->count = RowsIn(*m, *out);
  return m;
}

// A mask over the first dimensions as one that broadcasts over the later ones too.
TensorDesc Padded(const TensorDesc& mask, std::int64_t behind) {
  TensorDesc padded = mask;
  padded.shape.insert(padded.shape.end(), static_cast<std::size_t>(behind), 1);
  padded.strides.insert(padded.strides.end(), static_cast<std::size_t>(behind), 0);
  return padded;
}

// What is put is the same for every row that is selected: no need to know how many those are.
std::optional<MaskedCall> FillOf(MaskedCall m, const TensorDesc& value, std::int64_t behind) {
  const auto wide = Expanded(Padded(m.mask, behind), m.table.shape);
  if (!wide) {
    return std::nullopt;
  }
  m.kind = Kind::kFill;
  m.mask = *wide;
  m.rows = value;
  if (Count(value) == 1) {
    m.rows.shape.clear();
    m.rows.strides.clear();
  }
  return m;
}

// index_put_(self, [mask], values, accumulate)
std::optional<MaskedCall> ParseMaskedPut(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* values = call.InputTensor(2);
  const TensorDesc* target = WriteTarget(call);
  if (target == nullptr || values == nullptr || values->dtype != self->dtype ||
      !IsKernelType(self->dtype)) {
    return std::nullopt;
  }
  auto m = MaskOf(*self, call.Argument(1));
  if (!m) {
    return std::nullopt;
  }
  m->table = *target;
  m->self = target == self ? nullptr : self;
  m->rows = *values;
  m->accumulate = TruthOr(call.Argument(3), false);
  std::size_t before = 0;
  while (IndexAt(*call.Argument(1).AsList(), before) == nullptr) {
    ++before;
  }
  const std::int64_t behind = Rank(*self) - Rank(m->mask) - static_cast<std::int64_t>(before);
  if (!m->accumulate && (Rank(*values) <= behind || Count(*values) == 1)) {
    return FillOf(*m, *values, behind);
  }
  m->kind = Kind::kWrite;
  m->count = RowsIn(*m, *values);
  const bool in_rows =
      m->batch == 1 && m->count > 0 && Rank(*values) == behind + 1 && values->shape[0] == m->count;
  return in_rows ? m : std::nullopt;
}

}  // namespace

std::optional<MaskedCall> ParseMasked(const OpCall& call) {
  std::optional<MaskedCall> m;
  if (call.name == "aten::nonzero") {
    m = ParseNonzero(call);
  } else if (call.name == "aten::where") {
    m = ParseWhere(call);
  } else if (call.name == "aten::masked_select") {
    m = ParseSelect(call);
  } else if (call.name.starts_with("aten::masked_scatter")) {
    m = ParseMaskedScatter(call);
  } else if (call.name == "aten::index" || call.name == "aten::_unsafe_index") {
    m = ParseIndex(call);
  } else {
    m = ParseMaskedPut(call);
  }
  return m;
}

}  // namespace reprise
