// Group norm: kernels/ops/norms/group_norm.cl.
#include <array>
#include <cmath>
#include <optional>

#include "kernels/ops/common/host_values.h"
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
struct GroupNormCall {
  NormOperands op;
  Extents extents;
  double eps = 0;
  const TensorDesc* y = nullptr;  // forward
  const TensorDesc* g = nullptr;  // backward
  const TensorDesc* dx = nullptr;
  const TensorDesc* dw = nullptr;
  const TensorDesc* db = nullptr;
};

bool IsGroupNormBackward(const OpCall& call) { return call.name.ends_with("_backward"); }

// native_group_norm(input, weight?, bias?, N, C, HxW, group, eps) -> (y, mean, rstd)
// native_group_norm_backward(grad, input, mean, rstd, weight?, N, C, HxW, group, mask[3])
std::optional<GroupNormCall> ParseGroupNorm(const OpCall& call) {
  GroupNormCall p;
  const bool backward = IsGroupNormBackward(call);
  p.op.x = call.InputTensor(backward ? 1 : 0);
  p.op.weight = call.InputTensor(backward ? 4 : 1);
  p.op.bias = backward ? nullptr : call.InputTensor(2);
  p.op.mean = backward ? call.InputTensor(2) : call.OutputTensor(1);
  p.op.rstd = backward ? call.InputTensor(3) : call.OutputTensor(2);
  if (backward) {
    const Value& mask = Argument(call, 9);
    p.g = call.InputTensor(0);
    p.dx = MaskAt(mask, 0) ? call.OutputTensor(0) : nullptr;
    p.dw = MaskAt(mask, 1) ? call.OutputTensor(1) : nullptr;
    p.db = MaskAt(mask, 2) ? call.OutputTensor(2) : nullptr;
  } else {
    p.y = call.OutputTensor(0);
    p.eps = NumberOr(Argument(call, 7), 0);
  }
  const TensorDesc* partner = backward ? p.g : p.y;
  if (partner == nullptr || p.op.mean == nullptr || !p.op.TypesFit() ||
      partner->dtype != p.op.x->dtype || partner->shape != p.op.x->shape ||
      (backward && !p.op.GradientsFit(p.dx, p.dw, p.db))) {
    return std::nullopt;
  }
  const std::size_t first = backward ? 5 : 3;
  const auto number = [&](std::size_t i) {
    return Argument(call, first + i).AsNumber<std::int64_t>(0);
  };
  if (number(3) < 1 || number(1) < 1 || number(1) % number(3) != 0) {
    return std::nullopt;
  }
  p.extents = {number(0), number(3), number(1) / number(3), number(2)};
  const bool fits = Count(*p.op.x) == p.extents.images * p.extents.channels() * p.extents.n &&
                    Count(*p.op.mean) == p.extents.rows() && Count(*p.op.rstd) == p.extents.rows();
  return fits ? std::optional(p) : std::nullopt;
}

class GroupNorm final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "group_norm"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParseGroupNorm(call).has_value();
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return IsGroupNormBackward(call) ? ReferenceBackward(*ParseGroupNorm(call), memory)
                                     : ReferenceForward(*ParseGroupNorm(call), memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    return IsGroupNormBackward(call) ? LowerBackward(*ParseGroupNorm(call), context)
                                     : LowerForward(*ParseGroupNorm(call), context);
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override;

 private:
  static Status ReferenceForward(const GroupNormCall& p, const HostBindings& memory);
  static Status ReferenceBackward(const GroupNormCall& p, const HostBindings& memory);
  static Result<std::vector<Launch>> LowerForward(const GroupNormCall& p,
                                                  const LowerContext& context);
  static Result<std::vector<Launch>> LowerBackward(const GroupNormCall& p,
                                                   const LowerContext& context);
};

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

Status GroupNorm::ReferenceForward(const GroupNormCall& p, const HostBindings& memory) {
  const Extents& e = p.extents;
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*p.op.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(p.op.weight, memory, e.channels(), 1));
  REPRISE_ASSIGN(const Doubles b, ReadDoublesOr(p.op.bias, memory, e.channels(), 0));
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
  REPRISE_TRY(WriteDoubles(*p.op.mean, memory, mean));
  return WriteDoubles(*p.op.rstd, memory, rstd);
}

Status GroupNorm::ReferenceBackward(const GroupNormCall& p, const HostBindings& memory) {
  const Extents& e = p.extents;
  REPRISE_ASSIGN(const Doubles g, ReadDoubles(*p.g, memory));
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*p.op.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(p.op.weight, memory, e.channels(), 1));
  REPRISE_ASSIGN(const Doubles mean, ReadDoubles(*p.op.mean, memory));
  REPRISE_ASSIGN(const Doubles rstd, ReadDoubles(*p.op.rstd, memory));
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

Result<std::vector<Launch>> GroupNorm::LowerForward(const GroupNormCall& p,
                                                    const LowerContext& context) {
  const Extents& e = p.extents;
  RowLowering rows(context, "group_norm.cl");
  REPRISE_TRY(p.op.UseTypes(rows));
  REPRISE_ASSIGN(const DenseOperand x, rows.Read(*p.op.x));
  REPRISE_ASSIGN(const DenseOperand w, rows.ReadOr(p.op.weight, x));
  REPRISE_ASSIGN(const DenseOperand b, rows.ReadOr(p.op.bias, x));
  REPRISE_ASSIGN(const DenseOperand y, rows.Write(*p.y));
  REPRISE_ASSIGN(const DenseOperand mean, rows.Write(*p.op.mean));
  REPRISE_ASSIGN(const DenseOperand rstd, rows.Write(*p.op.rstd));
  rows.LaunchRows("group_norm", e.rows(), static_cast<double>(e.depth * e.n) * 3, x, w, b, y, mean,
                  rstd, e.rows(), e.groups, e.depth, e.n, static_cast<float>(p.eps), p.op.Flags(),
                  rows.LanesFor(e.n));
  return std::move(rows).Take();
}

Result<std::vector<Launch>> GroupNorm::LowerBackward(const GroupNormCall& p,
                                                     const LowerContext& context) {
  const Extents& e = p.extents;
  RowLowering rows(context, "group_norm.cl");
  REPRISE_TRY(p.op.UseTypes(rows));
  REPRISE_ASSIGN(const DenseOperand g, rows.Read(*p.g));
  REPRISE_ASSIGN(const DenseOperand x, rows.Read(*p.op.x));
  REPRISE_ASSIGN(const DenseOperand w, rows.ReadOr(p.op.weight, x));
  REPRISE_ASSIGN(const DenseOperand mean, rows.Read(*p.op.mean));
  REPRISE_ASSIGN(const DenseOperand rstd, rows.Read(*p.op.rstd));
  REPRISE_ASSIGN(const DenseOperand dx, rows.WriteOr(p.dx, x));
  REPRISE_ASSIGN(const DenseOperand dw, rows.WriteOr(p.dw, x));
  REPRISE_ASSIGN(const DenseOperand db, rows.WriteOr(p.db, x));
  const std::int32_t flags = p.op.Flags() | (p.dw != nullptr ? kNormWantWeight : 0) |
                             (p.db != nullptr ? kNormWantBias : 0);
  if (p.dw != nullptr || p.db != nullptr) {
    rows.LaunchRows("group_norm_dw", e.channels(), static_cast<double>(e.images * e.n) * 2, g, x,
                    mean, rstd, dw, db, e.images, e.groups, e.depth, e.n, flags,
                    rows.LanesFor(e.n));
  }
  if (p.dx != nullptr) {
    rows.LaunchRows("group_norm_dx", e.rows(), static_cast<double>(e.depth * e.n) * 3, g, x, w,
                    mean, rstd, dx, e.rows(), e.groups, e.depth, e.n, flags, rows.LanesFor(e.n));
  }
  return std::move(rows).Take();
}

std::vector<OpCall> GroupNorm::Samples() const {
  using samples::Bool;
  using samples::Double;
  using samples::Int;
  using samples::None;
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

std::unique_ptr<Kernel> MakeGroupNorm() { return std::make_unique<GroupNorm>(); }

}  // namespace reprise
