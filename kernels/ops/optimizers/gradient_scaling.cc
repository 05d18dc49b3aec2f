// The two steps of automatic mixed precision's gradient scaler:
// kernels/ops/optimizers/optimizer.cl.
#include <cmath>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

constexpr std::string_view kUnscale = "aten::_amp_foreach_non_finite_check_and_unscale_";
constexpr std::string_view kUpdate = "aten::_amp_update_scale_";

bool IsOne(const TensorDesc* tensor, DType dtype) {
  return tensor != nullptr && tensor->dtype == dtype && Count(*tensor) == 1;
}

// (self[], found_inf, inv_scale)
struct Unscale {
  std::vector<const TensorDesc*> grads;
  const TensorDesc* found_inf = nullptr;
  const TensorDesc* inv_scale = nullptr;
};
std::optional<Unscale> ParseUnscale(const OpCall& call) {
  const ValueList* list = call.Argument(0).AsList();
  if (call.name != kUnscale || list == nullptr || !IsOne(call.InputTensor(1), DType::kFloat32) ||
      !IsOne(call.InputTensor(2), DType::kFloat32)) {
    return std::nullopt;
  }
  Unscale u{TensorsIn(*list), call.InputTensor(1), call.InputTensor(2)};
  for (const TensorDesc* grad : u.grads) {
    if (!IsFloatKernelType(grad->dtype)) {
      return std::nullopt;
    }
  }
  return u;
}

// (scale, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval)
struct ScaleUpdate {
  const TensorDesc* scale = nullptr;
  const TensorDesc* tracker = nullptr;
  const TensorDesc* found_inf = nullptr;
  double growth = 1, backoff = 1;
  std::int32_t interval = 1;
};
std::optional<ScaleUpdate> ParseUpdate(const OpCall& call) {
  const ScaleUpdate u{call.InputTensor(0),           call.InputTensor(1),
                      call.InputTensor(2),           NumberOr(call.Argument(3), 1),
                      NumberOr(call.Argument(4), 1), call.Argument(5).AsNumber<std::int32_t>(1)};
  const bool fits = call.name == kUpdate && IsOne(u.scale, DType::kFloat32) &&
                    IsOne(u.tracker, DType::kInt32) && IsOne(u.found_inf, DType::kFloat32);
  return fits ? std::optional(u) : std::nullopt;
}

Status ReferenceUnscale(const Unscale& u, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles inv_scale, ReadDoubles(*u.inv_scale, memory));
  for (const TensorDesc* grad : u.grads) {
    REPRISE_ASSIGN(Doubles values, ReadDoubles(*grad, memory));
    for (double& value : values) {
      if (!std::isfinite(value)) {
        REPRISE_TRY(WriteDoubles(*u.found_inf, memory, {1}));
      }
      value *= inv_scale[0];
    }
    REPRISE_TRY(WriteDoubles(*grad, memory, values));
  }
  return {};
}

Status ReferenceUpdate(const ScaleUpdate& u, const HostBindings& memory) {
  REPRISE_ASSIGN(Doubles scale, ReadDoubles(*u.scale, memory));
  REPRISE_ASSIGN(Integers tracker, ReadIntegers(*u.tracker, memory));
  REPRISE_ASSIGN(const Doubles found_inf, ReadDoubles(*u.found_inf, memory));
  if (found_inf[0] != 0) {
    scale[0] *= u.backoff;
    tracker[0] = 0;
  } else if (++tracker[0] == u.interval) {
    const double grown = scale[0] * u.growth;
    scale[0] = std::isfinite(static_cast<float>(grown)) ? grown : scale[0];
    tracker[0] = 0;
  }
  REPRISE_TRY(WriteDoubles(*u.scale, memory, scale));
  return WriteIntegers(*u.tracker, memory, tracker);
}

void LowerUnscale(const Unscale& u, RowLowering& rows) {
  for (const TensorDesc* grad : u.grads) {
    rows.UseTypes({{"X", grad->dtype}, {"S", DType::kFloat32}}, AccumulatorOf(grad->dtype));
    rows.LaunchItems("unscale", Count(*grad), rows.Update(Permuted(*grad, MemoryOrder(*grad))),
                     rows.Update(*u.found_inf), rows.Read(*u.inv_scale), Count(*grad));
  }
}

void LowerUpdate(const ScaleUpdate& u, RowLowering& rows) {
  rows.UseTypes({{"X", DType::kFloat32}, {"S", DType::kFloat32}}, DType::kFloat32);
  rows.LaunchItems("update_scale", 1, rows.Update(*u.scale), rows.Update(*u.tracker),
                   rows.Read(*u.found_inf), static_cast<float>(u.growth),
                   static_cast<float>(u.backoff), u.interval);
}

std::vector<OpCall> GradientScalingSamples() {
  samples::SampleTensors t;
  const Value grads = samples::Tensors(
      {t.Tensor(DType::kFloat32, {19}), t.Strided(DType::kFloat32, {3, 5}, {1, 4}, 1)});
  const TensorDesc inv_scale = t.Tensor(DType::kFloat32, {1});
  const TensorDesc found_inf = t.Tensor(DType::kFloat32, {1});
  const TensorDesc tracker = t.Tensor(DType::kInt32, {});
  return {{std::string(kUnscale), {grads, {found_inf}, {inv_scale}}, {}},
          {std::string(kUpdate),
           {{inv_scale},
            {tracker},
            {found_inf},
            samples::Double(2),
            samples::Double(0.5),
            samples::Int(3)},
           {{inv_scale}}}};
}

}  // namespace

std::unique_ptr<Kernel> MakeGradientScaling() {
  return MakeParsedKernel({"gradient_scaling", "optimizer.cl", GradientScalingSamples},
                          CallForm<Unscale>{ParseUnscale, ReferenceUnscale, LowerUnscale},
                          CallForm<ScaleUpdate>{ParseUpdate, ReferenceUpdate, LowerUpdate});
}

}  // namespace reprise
