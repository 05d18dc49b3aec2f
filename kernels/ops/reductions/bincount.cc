// Counting values: kernels/ops/indexing/index_write.cl. The number of bins is the recorded one.
#include <algorithm>
#include <array>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/row_lowering.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

class Bincount final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "bincount"; }
  // bincount(self, weights, minlength), without weights.
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    const TensorDesc* self = call.InputTensor(0);
    const TensorDesc* out = call.OutputTensor(0);
    return self != nullptr && out != nullptr && IsIndexType(self->dtype) &&
           out->dtype == DType::kInt64 && Count(*out) > 0 && call.InputTensor(1) == nullptr;
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const TensorDesc& out = *call.OutputTensor(0);
    REPRISE_ASSIGN(const Integers values, ReadIntegers(*call.InputTensor(0), memory));
    Integers counts(static_cast<std::size_t>(Count(out)), 0);
    for (const std::int64_t value : values) {
      ++counts[static_cast<std::size_t>(InRange(value, Count(out)))];
    }
    return WriteIntegers(out, memory, counts);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const TensorDesc& self = *call.InputTensor(0);
    const std::int64_t bins = Count(*call.OutputTensor(0));
    RowLowering rows(context, "index_write.cl");
    REPRISE_TRY(rows.UseTypes({{"X", DType::kInt64}, {"I", self.dtype}}, DType::kInt64));
    REPRISE_ASSIGN(const DenseOperand values, rows.Read(self));
    REPRISE_ASSIGN(const DenseOperand counts, rows.Write(*call.OutputTensor(0)));
    // Each group reads all values: on a CPU one group counts them all.
    const std::int64_t block = rows.device().is_cpu ? bins : 1;
    rows.LaunchGroups("histogram", (bins + block - 1) / block, values, counts, Count(self), bins,
                      block);
    return std::move(rows).Take();
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
    std::vector<OpCall> calls;
    for (const DType dtype : {DType::kInt64, DType::kInt32}) {
      samples::SampleTensors t;
      const TensorDesc self = t.Strided(dtype, {301}, {2});
      calls.push_back({"aten::bincount",
                       {{self}, samples::None(), samples::Int(7)},
                       {{t.Tensor(DType::kInt64, {7})}}});
    }
    return calls;
  }
};

}  // namespace

std::unique_ptr<Kernel> MakeBincount() { return std::make_unique<Bincount>(); }

}  // namespace reprise
