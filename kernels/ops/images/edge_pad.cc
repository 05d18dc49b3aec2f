// Padding with what is inside, mirrored or repeated, in one to three dimensions, and its gradient:
// kernels/ops/images/edge_pad.cl.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using Triple = std::array<std::int64_t, 3>;

struct EdgePadCall {
  bool backward = false, reflect = false;
  const TensorDesc* in = nullptr;   // backward: the gradient that is written
  const TensorDesc* out = nullptr;  // backward: the gradient that is read
  std::int64_t planes = 1;
  Triple in_size = {1, 1, 1}, out_size = {1, 1, 1}, before = {0, 0, 0};  // z, y, x

  [[nodiscard]] std::int64_t InputOf(std::size_t d, std::int64_t o) const;
};

// As input_of in edge_pad.cl.
std::int64_t EdgePadCall::InputOf(std::size_t d, std::int64_t o) const {
  const std::int64_t n = in_size[d];
  const std::int64_t i = o - before[d];
  const std::int64_t mirrored = std::abs(i) >= n ? 2 * (n - 1) - std::abs(i) : std::abs(i);
  return std::clamp<std::int64_t>(reflect ? mirrored : i, 0, n - 1);
}

// Sizes by the recorded shapes, checked against `pad`: (before, after) from the last dimension on.
bool SetSizes(const std::vector<std::int64_t>& pad, std::size_t dims, EdgePadCall& p) {
  const std::size_t rank = p.in->shape.size();
  if (pad.size() != 2 * dims || p.out->shape.size() != rank || rank < dims ||
      p.in->dtype != p.out->dtype || !IsFloatKernelType(p.in->dtype)) {
    return false;
  }
  for (std::size_t d = 0; d < rank - dims; ++d) {
    p.planes *= p.in->shape[d];
    if (p.in->shape[d] != p.out->shape[d]) {
      return false;
    }
  }
  for (std::size_t k = 0; k < dims; ++k) {
    const std::size_t to = 2 - k;
    const std::int64_t n = p.in->shape[rank - 1 - k];
    const std::int64_t after = pad[2 * k + 1];
    p.in_size[to] = n;
    p.out_size[to] = p.out->shape[rank - 1 - k];
    p.before[to] = pad[2 * k];
    const bool fits = n > 0 && std::min(p.before[to], after) >= 0 &&
                      p.out_size[to] == n + p.before[to] + after &&
                      (!p.reflect || std::max(p.before[to], after) < n);
    if (!fits) {
      return false;
    }
  }
  return true;
}

// reflection_pad2d(self, padding), …_backward(grad_output, self, padding). Negative padding, which
// cuts off, is not taken.
std::optional<EdgePadCall> ParseEdgePad(const OpCall& call) {
  EdgePadCall p;
  p.backward = call.name.ends_with("_backward");
  p.reflect = call.name.starts_with("aten::reflection");
  p.in = p.backward ? call.OutputTensor(0) : call.InputTensor(0);
  p.out = p.backward ? call.InputTensor(0) : call.OutputTensor(0);
  const auto dims = static_cast<std::size_t>(call.name[call.name.find("_pad") + 4] - '0');
  const bool fits =
      p.in != nullptr && p.out != nullptr && SetSizes(call.InputInts(p.backward ? 2 : 1), dims, p);
  return fits ? std::optional(p) : std::nullopt;
}

Status ReferenceEdgePad(const EdgePadCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles from, ReadDoubles(p.backward ? *p.out : *p.in, memory));
  const TensorDesc& target = p.backward ? *p.in : *p.out;
  Doubles to(static_cast<std::size_t>(Count(target)), 0);
  const auto& [depth, height, width] = p.out_size;
  for (std::int64_t row = 0; row < p.planes * depth * height; ++row) {
    const std::int64_t z = p.InputOf(0, row / height % depth);
    const std::int64_t y = p.InputOf(1, row % height);
    const std::int64_t line = (row / height / depth * p.in_size[0] + z) * p.in_size[1] + y;
    for (std::int64_t x = 0; x < width; ++x) {
      const auto in = static_cast<std::size_t>(line * p.in_size[2] + p.InputOf(2, x));
      const auto out = static_cast<std::size_t>(row * width + x);
      to[p.backward ? in : out] += from[p.backward ? out : in];
    }
  }
  return WriteDoubles(target, memory, to);
}

void LowerEdgePad(const EdgePadCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.in->dtype}}, AccumulatorOf(p.in->dtype));
  const DenseOperand in = rows.ReadOrWrite(*p.in, p.backward);
  const DenseOperand out = rows.ReadOrWrite(*p.out, !p.backward);
  const std::int64_t items = p.backward ? Count(*p.in) : p.planes * p.out_size[0] * p.out_size[1];
  rows.LaunchItems(p.backward ? "pad_grad" : "pad", items, in, out, p.planes, p.in_size[0],
                   p.in_size[1], p.in_size[2], p.out_size[0], p.out_size[1], p.out_size[2],
                   p.before[0], p.before[1], p.before[2], p.reflect);
}

// The operator of that many dimensions and its backward.
void AddSample(std::vector<OpCall>& calls, const std::string& kind, samples::SampleTensors& t,
               const TensorDesc& in, const std::vector<std::int64_t>& pad) {
  Dims shape = in.shape;
  for (std::size_t k = 0; k < pad.size() / 2; ++k) {
    shape[shape.size() - 1 - k] += pad[2 * k] + pad[2 * k + 1];
  }
  const std::string name = "aten::" + kind + "_pad" + std::to_string(pad.size() / 2) + "d";
  const Value out{t.Tensor(in.dtype, shape)};
  const Value grad{t.Tensor(in.dtype, in.shape)};
  calls.push_back({name, {Value{in}, samples::Ints(pad)}, {out}});
  calls.push_back({name + "_backward", {out, Value{in}, samples::Ints(pad)}, {grad}});
}

std::vector<OpCall> EdgePadSamples() {
  using enum DType;
  std::vector<OpCall> calls;
  for (const std::string kind : {"reflection", "replication"}) {
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      samples::SampleTensors t;
      AddSample(calls, kind, t, t.Tensor(dtype, {2, 3, 5, 7}), {1, 2, 3, 4});
    }
    samples::SampleTensors t;
    AddSample(calls, kind, t, t.Strided(kFloat32, {2, 3, 5, 7}, {105, 1, 21, 3}), {6, 0, 0, 1});
    AddSample(calls, kind, t, t.Tensor(kFloat32, {3, 4, 2}), {1, 1, 0, 0});
    AddSample(calls, kind, t, t.Tensor(kFloat32, {2, 3, 9}), {4, 8});
    AddSample(calls, kind, t, t.Tensor(kFloat32, {2, 1}), {0, 0});
    AddSample(calls, kind, t, t.Tensor(kFloat32, {0, 3, 4}), {1, 1});
    AddSample(calls, kind, t, t.Tensor(kFloat32, {2, 2, 3, 4, 5}), {1, 2, 0, 1, 2, 1});
  }
  samples::SampleTensors t;  // further out than the input is wide
  AddSample(calls, "replication", t, t.Tensor(kFloat32, {2, 1, 3}), {5, 4, 2, 0});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeEdgePad() {
  return MakeParsedKernel({"edge_pad", "edge_pad.cl", EdgePadSamples},
                          CallForm<EdgePadCall>{ParseEdgePad, ReferenceEdgePad, LowerEdgePad});
}

}  // namespace reprise
