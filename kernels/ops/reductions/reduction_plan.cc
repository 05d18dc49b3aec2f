#include "kernels/ops/reductions/reduction_plan.h"

#include <algorithm>
#include <string>

namespace reprise {
namespace {

// Elements that keep one work-group busy, on a CPU and elsewhere.
constexpr std::int64_t kCpuSegment = 16384;
constexpr std::int64_t kGpuSegment = 4096;
// Work-groups wanted per compute unit.
constexpr std::int64_t kGroupsPerUnit = 4;
// float32 counts exactly up to here: longer segments would lose elements of a count.
constexpr std::int64_t kMaxSegment = std::int64_t{1} << 24;

struct Pass {
  DenseOperand x, y;
  ReductionShape shape;
  std::int64_t segment, segments;
  std::int32_t finish;
  std::int64_t count;
};

// Columns that one work-group takes: reduction.cl's.
std::int64_t ColumnsPerGroup(const RowLowering& rows) {
  constexpr std::int64_t kWide = 64;
  return rows.group_size() == 1 ? kWide * rows.vector_width() : rows.columns_per_group();
}

std::int64_t SegmentsFor(const RowLowering& rows, const ReductionShape& shape) {
  const std::int64_t columns = ColumnsPerGroup(rows);
  const std::int64_t groups =
      shape.outer * (shape.inner == 1 ? 1 : (shape.inner + columns - 1) / columns);
  const std::int64_t wanted = std::max(1, rows.device().compute_units) * kGroupsPerUnit;
  const std::int64_t work = shape.n * std::min(shape.inner, columns);
  const std::int64_t busy = rows.device().is_cpu ? kCpuSegment : kGpuSegment;
  const std::int64_t most =
      std::clamp<std::int64_t>(work / busy, 1, std::max<std::int64_t>(shape.n, 1));
  const std::int64_t exact = (shape.n + kMaxSegment - 1) / kMaxSegment;
  return std::max(
      {exact, std::int64_t{1}, std::min(most, wanted / std::max<std::int64_t>(groups, 1))});
}

void LaunchPass(RowLowering& rows, const char* name, const Pass& pass, double parameter) {
  const ReductionShape& s = pass.shape;
  rows.Define("REDUCTION", std::string("REDUCTION_") + name);
  const auto run = [&](const std::string& entry, std::int64_t groups, double work) {
    rows.LaunchRows(entry.c_str(), groups, work, pass.x, pass.y, s.outer, s.n, s.inner,
                    pass.segment, pass.segments, pass.finish, static_cast<float>(parameter),
                    pass.count);
  };
  const auto segment = static_cast<double>(pass.segment);
  if (s.inner == 1) {
    run(std::string("row_") + name, s.outer * pass.segments, segment);
    return;
  }
  const std::int64_t columns = ColumnsPerGroup(rows);
  run(std::string("col_") + name, s.outer * pass.segments * ((s.inner + columns - 1) / columns),
      segment * static_cast<double>(std::min(s.inner, columns)));
}

}  // namespace

TensorDesc ReducedLast(const TensorDesc& x, const std::vector<bool>& reduced) {
  Dims order;
  for (const bool last : {false, true}) {
    for (std::size_t d = 0; d < x.shape.size(); ++d) {
      if (reduced[d] == last) {
        order.push_back(static_cast<std::int64_t>(d));
      }
    }
  }
  return Permuted(x, order);
}

ReductionShape ShapeReduction(const TensorDesc& x, const std::vector<bool>& reduced) {
  ReductionShape shape;
  // Extents of the kept dimensions before, the reduced ones, and the kept ones after.
  bool adjacent = true;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] == 1) {
      continue;
    }
    if (!reduced[d]) {
      (shape.n == 1 ? shape.outer : shape.inner) *= x.shape[d];
    } else {
      adjacent = adjacent && shape.inner == 1;
      shape.n *= x.shape[d];
    }
  }
  if (adjacent && IsContiguous(x) && Count(x) > 0) {
    shape.view = x;
    return shape;
  }
  shape.view = ReducedLast(x, reduced);
  shape.outer *= shape.inner;
  shape.inner = 1;
  return shape;
}

std::optional<std::vector<bool>> ReducedDims(const Value& dims, std::int64_t rank) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), false);
  Dims list;
  if (const ValueList* values = dims.AsList()) {
    for (const Value& value : *values) {
      list.push_back(value.AsNumber<std::int64_t>(0));
    }
  } else if (IsInt(dims)) {
    list.push_back(dims.AsNumber<std::int64_t>(0));
  }
  if (list.empty()) {
    reduced.assign(reduced.size(), true);
  }
  for (const std::int64_t dim : list) {
    const auto wrapped = WrapDim(dim, rank);
    if (!wrapped) {
      return std::nullopt;
    }
    if (rank > 0) {
      reduced[static_cast<std::size_t>(*wrapped)] = true;
    }
  }
  return reduced;
}

void AppendReduction(RowLowering& rows, const ReductionJob& job) {
  const auto finish = static_cast<std::int32_t>(job.steps.finish);
  const std::int64_t segments = SegmentsFor(rows, job.shape);
  const std::int64_t count = job.mean_of > 0 ? job.mean_of : job.shape.n;
  rows.UseProgram("reduction.cl");
  if (segments == 1) {
    rows.UseTypes({{"X", job.x_type}, {"Y", job.y_type}}, job.accumulator);
    LaunchPass(rows, job.steps.first,
               {job.x, job.y, job.shape, std::max<std::int64_t>(job.shape.n, 1), 1, finish, count},
               job.steps.parameter);
    return;
  }
  // Partial counts are kept as integers, which their total may need.
  const bool counts = IsIntegral(job.y_type) && !IsIntegral(job.accumulator) &&
                      job.steps.finish == ReductionFinish::kNone;
  const DType partial_type = counts ? DType::kInt64 : job.accumulator;
  const DenseOperand partial =
      rows.Scratch(job.shape.outer * segments * job.shape.inner * SizeOf(partial_type));
  rows.UseTypes({{"X", job.x_type}, {"Y", partial_type}}, job.accumulator);
  const std::int64_t segment = (job.shape.n + segments - 1) / segments;
  const std::int64_t used = (job.shape.n + segment - 1) / segment;
  LaunchPass(rows, job.steps.first, {job.x, partial, job.shape, segment, used, 0, count},
             job.steps.parameter);
  ReductionShape rest = job.shape;
  rest.n = used;
  rows.UseTypes({{"X", partial_type}, {"Y", job.y_type}}, partial_type);
  LaunchPass(rows, job.steps.rest, {partial, job.y, rest, used, 1, finish, count},
             job.steps.parameter);
}

}  // namespace reprise
