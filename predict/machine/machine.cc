#include "predict/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/counted.h"

namespace reprise {
namespace {

std::optional<RateFormat> FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return RateFormat::kFloat64;
    case DType::kFloat32:
    case DType::kComplex64:
      return RateFormat::kFloat32;
    case DType::kFloat16:
      return RateFormat::kFloat16;
    case DType::kBFloat16:
      return RateFormat::kBFloat16;
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
      return RateFormat::kFloat8;
    case DType::kFloat4E2M1x2:
      return RateFormat::kFloat4;
    case DType::kInt8:
    case DType::kUInt8:
      return RateFormat::kInt8;
    default:
      return std::nullopt;
  }
}

const SourcedNumber* Present(const OptionalNumber& number) { return number ? &*number : nullptr; }

}  // namespace

std::string Described(const Calibration& calibration) {
  std::string text = calibration.on;
  if (calibration.points) {
    text += ", " + Counted(calibration.points->value, "point");
  }
  return text + (calibration.error
                     ? fmt::format(", error {:.1f} % when left out", 100 * calibration.error->value)
                     : ", error unknown: nothing was left out");
}

std::optional<std::size_t> MachineModel::FindLink(std::string_view link) const {
  const auto found = std::ranges::find(links, link, &LinkLevel::name);
  return found == links.end() ? std::nullopt : std::optional<std::size_t>(found - links.begin());
}

std::int64_t MachineModel::DeviceLimit() const {
  std::int64_t limit = links.empty() ? 1 : links.back().spans();
  if (node.nodes) {
    const auto devices = static_cast<std::int64_t>(node.nodes->value * node.devices.value);
    limit = limit == 0 ? devices : std::min(limit, devices);
  }
  return limit;
}

std::int64_t MachineModel::DomainDevices(std::size_t level) const {
  return level == 0 ? 1 : links[level - 1].spans();
}

const ExpertNumbers* FindExperts(const DeviceModel& device, DType dtype) {
  const auto at = std::ranges::find(device.experts, dtype, &ExpertNumbers::dtype);
  return at == device.experts.end() ? nullptr : &*at;
}

const ClassEfficiency* FindClass(const DeviceModel& device, OpClass op_class) {
  const auto at = std::ranges::find(device.classes, op_class, &ClassEfficiency::op_class);
  return at == device.classes.end() ? nullptr : &*at;
}

const ClassEfficiency::OfType* FindType(const ClassEfficiency& of_class, DType dtype) {
  const auto at = std::ranges::find(of_class.types, dtype, &ClassEfficiency::OfType::dtype);
  return at == of_class.types.end() ? nullptr : &*at;
}

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

bool IsProduct(OpClass op_class) {
  return op_class == OpClass::kGemm || op_class == OpClass::kAttention ||
         op_class == OpClass::kConv;
}

double MachineModel::DomainBandwidth(std::size_t level) const {
  const LinkLevel& link = links[level];
  const auto devices = static_cast<double>(DomainDevices(level));
  if (link.oversubscription) {
    // Into its members: what all domains inside it can send.
    const double inside = devices / static_cast<double>(DomainDevices(level - 1));
    return inside * DomainBandwidth(level - 1) / link.oversubscription->value;
  }
  const double each = link.bytes_per_second->value;
  return link.per == BandwidthPer::kDevice ? each * devices : each * devices / node.devices.value;
}

bool HasPower(const DeviceModel& device) {
  const PowerModel& power = device.power;
  return power.idle_watts && power.limit_watts && power.memory_joules_per_byte &&
         power.vector_joules_per_flop[static_cast<std::size_t>(RateFormat::kFloat32)];
}

bool HasClockCurve(const DeviceModel& device) {
  const PowerModel& power = device.power;
  return HasPower(device) && power.clock_max_hertz && power.clock_min_hertz &&
         power.clock_ridge_hertz && power.clock_step_hertz && power.low_voltage;
}

bool HasThermal(const DeviceModel& device) {
  const ThermalModel& thermal = device.thermal;
  return HasPower(device) && thermal.kelvin_per_watt && thermal.joules_per_kelvin &&
         thermal.inlet_celsius && thermal.throttle_celsius;
}

std::int64_t LimitWindowNs(const PowerModel& power) {
  return power.limit_window_ns ? std::llround(power.limit_window_ns->value) : 0;
}

const SourcedNumber* PeakRate(const DeviceModel& device, DType dtype, bool matrix, bool tf32) {
  const std::optional<RateFormat> format = FormatOf(dtype);
  if (!format) {
    return nullptr;
  }
  const auto at = static_cast<std::size_t>(*format);
  const SourcedNumber* const vector = Present(device.vector_flops_per_second[at]);
  if (!matrix) {
    return vector;
  }
  const SourcedNumber* best = Present(device.matrix_flops_per_second[at]);
  if (tf32 && *format == RateFormat::kFloat32) {
    const auto& by_tf32 =
        device.matrix_flops_per_second[static_cast<std::size_t>(RateFormat::kTf32)];
    best = by_tf32 && (best == nullptr || best->value < by_tf32->value) ? &*by_tf32 : best;
  }
  return best == nullptr || (vector != nullptr && vector->value > best->value) ? vector : best;
}

}  // namespace reprise
