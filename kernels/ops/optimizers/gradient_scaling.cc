// The two steps of automatic mixed precision's gradient scaler:
// kernels/ops/optimizers/optimizer.cl.
#include <array>
#include <cmath>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/row_lowering.h"
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
  const ValueList* list = Argument(call, 0).AsList();
  if (list == nullptr || !IsOne(call.InputTensor(1), DType::kFloat32) ||
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
bool UpdateFits(const OpCall& call) {
  return IsOne(call.InputTensor(0), DType::kFloat32) && IsOne(call.InputTensor(1), DType::kInt32) &&
         IsOne(call.InputTensor(2), DType::kFloat32);
}

class GradientScaling final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "gradient_scaling"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return call.name == kUnscale ? ParseUnscale(call).has_value() : UpdateFits(call);
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return call.name == kUnscale ? ReferenceUnscale(*ParseUnscale(call), memory)
                                 : ReferenceUpdate(call, memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    RowLowering rows(context, "optimizer.cl");
    if (call.name == kUpdate) {
      REPRISE_TRY(rows.UseTypes({{"X", DType::kFloat32}, {"S", DType::kFloat32}}, DType::kFloat32));
      REPRISE_ASSIGN(const DenseOperand scale, rows.Update(*call.InputTensor(0)));
      REPRISE_ASSIGN(const DenseOperand tracker, rows.Update(*call.InputTensor(1)));
      REPRISE_ASSIGN(const DenseOperand found_inf, rows.Read(*call.InputTensor(2)));
      rows.LaunchItems("update_scale", 1, scale, tracker, found_inf,
                       static_cast<float>(NumberOr(Argument(call, 3), 1)),
                       static_cast<float>(NumberOr(Argument(call, 4), 1)),
                       Argument(call, 5).AsNumber<std::int32_t>(1));
      return std::move(rows).Take();
    }
    const Unscale u = *ParseUnscale(call);
    for (const TensorDesc* grad : u.grads) {
      REPRISE_TRY(
          rows.UseTypes({{"X", grad->dtype}, {"S", DType::kFloat32}}, AccumulatorOf(grad->dtype)));
      REPRISE_ASSIGN(const DenseOperand x, rows.Update(Permuted(*grad, MemoryOrder(*grad))));
      REPRISE_ASSIGN(const DenseOperand found_inf, rows.Update(*u.found_inf));
      REPRISE_ASSIGN(const DenseOperand inv_scale, rows.Read(*u.inv_scale));
      rows.LaunchItems("unscale", Count(*grad), x, found_inf, inv_scale, Count(*grad));
    }
    return std::move(rows).Take();
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
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

 private:
  static Status ReferenceUnscale(const Unscale& u, const HostBindings& memory) {
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
  static Status ReferenceUpdate(const OpCall& call, const HostBindings& memory) {
    REPRISE_ASSIGN(Doubles scale, ReadDoubles(*call.InputTensor(0), memory));
    REPRISE_ASSIGN(Integers tracker, ReadIntegers(*call.InputTensor(1), memory));
    REPRISE_ASSIGN(const Doubles found_inf, ReadDoubles(*call.InputTensor(2), memory));
    if (found_inf[0] != 0) {
      scale[0] *= NumberOr(Argument(call, 4), 1);
      tracker[0] = 0;
    } else if (++tracker[0] == Argument(call, 5).AsNumber<std::int64_t>(1)) {
      const double grown = scale[0] * NumberOr(Argument(call, 3), 1);
      scale[0] = std::isfinite(static_cast<float>(grown)) ? grown : scale[0];
      tracker[0] = 0;
    }
    REPRISE_TRY(WriteDoubles(*call.InputTensor(0), memory, scale));
    return WriteIntegers(*call.InputTensor(1), memory, tracker);
  }
};

}  // namespace

std::unique_ptr<Kernel> MakeGradientScaling() { return std::make_unique<GradientScaling>(); }

}  // namespace reprise
