#include "simulator/operator_times.h"

#include <algorithm>

namespace reprise {
namespace {

constexpr double kSecondNs = 1e9;

// Of products; nullptr: the class computes element by element.
const SourcedNumber* MatrixEfficiency(const DeviceModel& device, OpClass op_class) {
  switch (op_class) {
    case OpClass::kGemm:
      return &device.gemm_efficiency;
    case OpClass::kAttention:
      return &device.attention_efficiency;
    case OpClass::kConv:
      return &device.conv_efficiency;
    default:
      return nullptr;
  }
}

const SourcedNumber& RateOf(const DeviceModel& device, const OperatorWork& work, bool matrix) {
  const SourcedNumber* const peak =
      PeakRate(device, work.dtype, matrix, work.op_class == OpClass::kConv);
  return peak != nullptr ? *peak : *PeakRate(device, DType::kFloat32, false, false);
}

}  // namespace

RooflineTime RooflineOf(const DeviceModel& device, const OperatorWork& work) {
  RooflineTime time{device.kernel_least_ns.value, TimeBound::kLeast,
                    device.kernel_least_ns.source == NumberSource::kDefault};
  const SourcedNumber* const efficiency = MatrixEfficiency(device, work.op_class);
  const bool matrix = efficiency != nullptr;
  const double rate = RateOf(device, work, matrix).value * (matrix ? efficiency->value : 1);
  if (const double ns = work.flops / rate * kSecondNs; ns > time.ns) {
    time = {ns, matrix ? TimeBound::kMatrix : TimeBound::kVector,
            matrix && efficiency->source == NumberSource::kDefault};
  }
  const double bandwidth = device.memory_bytes_per_second.value * device.memory_efficiency.value;
  if (const double ns = work.bytes / bandwidth * kSecondNs; ns > time.ns) {
    time = {ns, TimeBound::kMemory, device.memory_efficiency.source == NumberSource::kDefault};
  }
  return time;
}

double ProductNsAtPeak(const DeviceModel& device, const OperatorWork& work) {
  return MatrixEfficiency(device, work.op_class) == nullptr
             ? 0
             : work.flops / RateOf(device, work, true).value * kSecondNs;
}

}  // namespace reprise
