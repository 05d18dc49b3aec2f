// ElementwiseCall → one launch of elementwise.cl.
#include <bit>

#include "kernels/cpu/non_temporal_store.h"
#include "kernels/ops/elementwise/elementwise_call.h"

namespace reprise {
namespace {

// As in elementwise.cl.
enum class OperandMode : std::int32_t { kValue, kOneElement, kTensor };
struct Args {
  IndexSpace space;
  std::array<std::int64_t, 4> value = {};
  std::array<OperandMode, 4> mode = {};
  std::array<std::int32_t, 4> type = {};
  std::int32_t op = 0;
  std::int32_t result_type = 0;
  std::int32_t non_temporal = 0;
};

std::int64_t BitsOf(const ElementwiseCall::Operand& operand, ComputeType type) {
  switch (type) {
    case ComputeType::kInteger:
      return operand.integer;
    case ComputeType::kDouble:
      return std::bit_cast<std::int64_t>(operand.real);
    default:
      return std::bit_cast<std::int32_t>(static_cast<float>(operand.real));
  }
}

std::string Options(const ElementwiseOp& op, ComputeType type) {
  switch (type) {
    case ComputeType::kInteger:
      return "-DC=long -DC_TYPE=DTYPE_INT64 -DC_IS_INTEGER -DGROUP=" +
             std::to_string(op.integer_group);
    case ComputeType::kDouble:
      return "-DC=double -DC_TYPE=DTYPE_FLOAT64 -DC_IS_DOUBLE -DGROUP=" +
             std::to_string(op.float_group);
    default:
      return "-DC=float -DC_TYPE=DTYPE_FLOAT32 -DGROUP=" + std::to_string(op.float_group);
  }
}

Result<Launch> LaunchOf(const ElementwiseCall& call, const LowerContext& context) {
  const ComputeType type = ComputeTypeOf(call);
  if (type == ComputeType::kDouble) {
    REPRISE_TRY(CheckHasType(DType::kFloat64, context.device));
  }
  const std::optional<IndexSpace> space = SpaceOf(call);
  if (!space) {
    return UsageError("operands of an element-wise operator do not broadcast");
  }
  Args args{.space = *space};
  bool reads_result = false;
  args.op = type == ComputeType::kInteger ? call.op->integer_position : call.op->float_position;
  args.result_type = static_cast<std::int32_t>(call.result->dtype);
  REPRISE_ASSIGN(Buffer * out, BufferOf(*call.result, context));
  DeviceKernel kernel{.program = "elementwise.cl", .entry = "elementwise"};
  kernel.options = Options(*call.op, type);
  kernel.args.emplace_back(out);
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    const ElementwiseCall::Operand& operand = call.operands[k];
    Buffer* buffer = out;  // never read
    if (operand.tensor == nullptr) {
      args.value[k] = BitsOf(operand, type);
    } else {
      REPRISE_ASSIGN(buffer, BufferOf(*operand.tensor, context));
      reads_result = reads_result || buffer == out;
      args.mode[k] = ElementCount(operand.tensor->shape) == 1 ? OperandMode::kOneElement
                                                              : OperandMode::kTensor;
      args.type[k] = static_cast<std::int32_t>(operand.tensor->dtype);
    }
    if (k < 3) {
      kernel.args.emplace_back(buffer);
    }
  }
  // A result that is an operand, too, is in the caches already. What takes longer to compute than
  // to store (gelu, by a quarter) is better stored as it is computed.
  constexpr double kMaxFlops = 4;
  const NonTemporalStore store(space->count * SizeOf(call.result->dtype));
  const bool non_temporal = store.non_temporal() && !reads_result && call.op->flops < kMaxFlops;
  args.non_temporal = context.device.is_cpu && non_temporal ? 1 : 0;
  kernel.args.push_back(StructArg(args));
  SetItemsLaunch(kernel, space->count, context.device);
  return Launch(std::move(kernel));
}

}  // namespace

void LowerElementwise(const ElementwiseCall& call, RowLowering& rows) {
  rows.Append(LaunchOf(call, rows.context()));
}

}  // namespace reprise
