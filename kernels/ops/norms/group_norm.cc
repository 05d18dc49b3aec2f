// Group norm: kernels/ops/norms/group_norm.cl.
#include <cmath>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/norms/norm.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// `depth` channels of n elements make a group, `groups` groups an image.
struct Extents {
  std::int64_t images = 0, groups = 0, depth = 0, n = 0;
  [[nodiscard]] std::int64_t rows() const { return images * groups; }
  [[nodiscard]] std::int64_t channels() const { return groups * depth; }
};
struct GroupNormCall : NormOperands {
  Extents extents;
  double eps = 0;
};

// native_group_norm(input, weight?, bias?, N, C, HxW, group, eps) -> (y, mean, rstd)
// native_group_norm_backward(grad, input, mean, rstd, weight?, N, C, HxW, group, mask[3])
std::optional<GroupNormCall> ParseGroupNorm(const OpCall& call) {
  GroupNormCall p;
  const bool backward = call.name.ends_with("_backward");
  p.x = call.InputTensor(backward ? 1 : 0);
  p.weight = call.InputTensor(backward ? 4 : 1);
  p.bias = backward ? nullptr : call.InputTensor(2);
  p.mean = backward ? call.InputTensor(2) : call.OutputTensor(1);
  p.rstd = backward ? call.InputTensor(3) : call.OutputTensor(2);
  if (backward) {
    p.g = call.InputTensor(0);
    p.WantGradients(call, call.Argument(9));
  } else {
    p.y = call.OutputTensor(0);
    p.eps = NumberOr(call.Argument(7), 0);
  }
  if (p.mean == nullptr || !p.Fit()) {
    return std::nullopt;
  }
  const std::size_t first = backward ? 5 : 3;
  const auto number = [&](std::size_t i) {
    return call.Argument(first + i).AsNumber<std::int64_t>(0);
  };
  if (number(3) < 1 || number(1) < 1 || number(1) % number(3) != 0) {
    return std::nullopt;
  }
  p.extents = {number(0), number(3), number(1) / number(3), number(2)};
  const bool fits = Count(*p.x) == p.extents.images * p.extents.channels() * p.extents.n &&
                    Count(*p.mean) == p.extents.rows() && Count(*p.rstd) == p.extents.rows();
  return fits ? std::optional(p) : std::nullopt;
}

// body(element, row, channel) for every element.
template <typename Body>
void ForEach(const Extents& e, Body&& body) {
  const std::int64_t size = e.depth * e.n;
  for (std::int64_t i = 0; i < e.rows() * size; ++i) {
    const std::int64_t row = i / size;
    const std::int64_t channel = row % e.groups * e.depth + i % size / e.n;
    body(static_cast<std::size_t>(i), static_cast<std::size_t>(row),
         static_cast<std::size_t>(channel));
  }
}

Status ReferenceForward(const GroupNormCall& p, const HostBindings& memory) {
  const Extents& e = p.extents;
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*p.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(p.weight, memory, e.channels(), 1));
  REPRISE_ASSIGN(const Doubles b, ReadDoublesOr(p.bias, memory, e.channels(), 0));
  const auto rows = static_cast<std::size_t>(e.rows());
  const auto size = static_cast<double>(e.depth * e.n);
  Doubles mean(rows, 0);
  Doubles rstd(rows, 0);
  Doubles y(x.size());
  ForEach(e, [&](std::size_t i, std::size_t row, std::size_t) { mean[row] += x[i] / size; });
  ForEach(e, [&](std::size_t i, std::size_t row, std::size_t) {
    rstd[row] += (x[i] - mean[row]) * (x[i] - mean[row]) / size;
  });
  for (double& value : rstd) {
    value = 1 / std::sqrt(value + p.eps);
  }
  ForEach(e, [&](std::size_t i, std::size_t row, std::size_t c) {
    y[i] = (x[i] - mean[row]) * rstd[row] * w[c] + b[c];
  });
  REPRISE_TRY(WriteDoubles(*p.y, memory, y));
  REPRISE_TRY(WriteDoubles(*p.mean, memory, mean));
  return WriteDoubles(*p.rstd, memory, rstd);
}

Status ReferenceBackward(const GroupNormCall& p, const HostBindings& memory) {
  const Extents& e = p.extents;
  REPRISE_ASSIGN(const Doubles g, ReadDoubles(*p.g, memory));
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*p.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(p.weight, memory, e.channels(), 1));
  REPRISE_ASSIGN(const Doubles mean, ReadDoubles(*p.mean, memory));
  REPRISE_ASSIGN(const Doubles rstd, ReadDoubles(*p.rstd, memory));
  const auto rows = static_cast<std::size_t>(e.rows());
  const auto channels = static_cast<std::size_t>(e.channels());
  const auto size = static_cast<double>(e.depth * e.n);
  Doubles gw(rows, 0);
  Doubles gwh(rows, 0);
  Doubles dx(x.size());
  Doubles dw(channels, 0);
  Doubles db(channels, 0);
  const auto h = [&](std::size_t i, std::size_t row) { return (x[i] - mean[row]) * rstd[row]; };
  ForEach(e, [&](std::size_t i, std::size_t row, std::size_t c) {
    gw[row] += g[i] * w[c] / size;
    gwh[row] += g[i] * w[c] * h(i, row) / size;
    dw[c] += g[i] * h(i, row);
    db[c] += g[i];
  });
  ForEach(e, [&](std::size_t i, std::size_t row, std::size_t c) {
    dx[i] = rstd[row] * (g[i] * w[c] - gw[row] - h(i, row) * gwh[row]);
  });
  REPRISE_TRY(WriteDoublesIf(p.dx, memory, dx));
  REPRISE_TRY(WriteDoublesIf(p.dw, memory, dw));
  return WriteDoublesIf(p.db, memory, db);
}

void LowerForward(const GroupNormCall& p, RowLowering& rows) {
  const Extents& e = p.extents;
  p.UseTypes(rows);
  const DenseOperand x = rows.Read(*p.x);
  rows.LaunchRows("group_norm", e.rows(), static_cast<double>(e.depth * e.n) * 3, x,
                  rows.ReadOr(p.weight, x), rows.ReadOr(p.bias, x), rows.Write(*p.y),
                  rows.Write(*p.mean), rows.Write(*p.rstd), e.rows(), e.groups, e.depth, e.n,
                  static_cast<float>(p.eps), p.Flags(), rows.LanesFor(e.n));
}

void LowerBackward(const GroupNormCall& p, RowLowering& rows) {
  const Extents& e = p.extents;
  p.UseTypes(rows);
  const DenseOperand g = rows.Read(*p.g);
  const DenseOperand x = rows.Read(*p.x);
  const DenseOperand w = rows.ReadOr(p.weight, x);
  const DenseOperand mean = rows.Read(*p.mean);
  const DenseOperand rstd = rows.Read(*p.rstd);
  const DenseOperand dx = rows.WriteOr(p.dx, x);
  const std::int32_t flags = p.Flags();
  if (p.dw != nullptr || p.db != nullptr) {
    rows.LaunchRows("group_norm_dw", e.channels(), static_cast<double>(e.images * e.n) * 2, g, x,
                    mean, rstd, rows.WriteOr(p.dw, x), rows.WriteOr(p.db, x), e.images, e.groups,
                    e.depth, e.n, flags, rows.LanesFor(e.n));
  }
  if (p.dx != nullptr) {
    rows.LaunchRows("group_norm_dx", e.rows(), static_cast<double>(e.depth * e.n) * 3, g, x, w,
                    mean, rstd, dx, e.rows(), e.groups, e.depth, e.n, flags, rows.LanesFor(e.n));
  }
}

Status ReferenceGroupNorm(const GroupNormCall& p, const HostBindings& memory) {
  return p.g != nullptr ? ReferenceBackward(p, memory) : ReferenceForward(p, memory);
}

void LowerGroupNorm(const GroupNormCall& p, RowLowering& rows) {
  return p.g != nullptr ? LowerBackward(p, rows) : LowerForward(p, rows);
}

std::vector<OpCall> GroupNormSamples() {
  using samples::Bool, samples::Double, samples::Int, samples::None;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
    for (const std::int64_t side : {2, 5}) {
      samples::SampleTensors t;
      const std::int64_t n = side * side;
      const Dims shape = {2, 6, side, side};
      const TensorDesc x = t.Strided(dtype, shape, {6 * n, 1, 6 * side, 6}, 1);
      const TensorDesc g = t.Tensor(dtype, shape);
      const TensorDesc y = t.Tensor(dtype, shape);
      const TensorDesc w = t.Tensor(dtype, {6});
      const TensorDesc b = t.Tensor(dtype, {6});
      const TensorDesc mean = t.Tensor(dtype, {2, 3});
      const TensorDesc rstd = t.Tensor(dtype, {2, 3});
      const TensorDesc dw = t.Tensor(dtype, {6});
      const TensorDesc db = t.Tensor(dtype, {6});
      const Value all{ValueList{Bool(true), Bool(true), Bool(true)}};
      calls.push_back({"aten::native_group_norm",
                       {{x}, {w}, {b}, Int(2), Int(6), Int(n), Int(3), Double(1e-5)},
                       {{y}, {mean}, {rstd}}});
      calls.push_back({"aten::native_group_norm",
                       {{x}, None(), None(), Int(2), Int(6), Int(n), Int(3), Double(1e-5)},
                       {{y}, {mean}, {rstd}}});
      calls.push_back({"aten::native_group_norm_backward",
                       {{g}, {x}, {mean}, {rstd}, {w}, Int(2), Int(6), Int(n), Int(3), all},
                       {{y}, {dw}, {db}}});
    }
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeGroupNorm() {
  return MakeParsedKernel(
      {"group_norm", "group_norm.cl", GroupNormSamples},
      CallForm<GroupNormCall>{ParseGroupNorm, ReferenceGroupNorm, LowerGroupNorm});
}

}  // namespace reprise
