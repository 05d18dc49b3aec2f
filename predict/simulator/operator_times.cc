#include "predict/simulator/operator_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace reprise {
namespace {

constexpr double kSecondNs = 1e9;

const SourcedNumber& RateOf(const DeviceModel& device, const OperatorWork& work, bool matrix) {
  const SourcedNumber* const peak =
      PeakRate(device, work.dtype, matrix, work.op_class == OpClass::kConv);
  return peak != nullptr ? *peak : *PeakRate(device, DType::kFloat32, false, false);
}

// Tiles that a product's result is cut into: 128 x 256 elements, the largest that cuBLAS's kernels
// of Ampere and later use (their names end in 128x256), along the side that needs fewer.
double TilesOf(const WorkShape& shape) {
  constexpr double kShort = 128;
  constexpr double kLong = 256;
  const auto tiles = [&](double rows, double columns) {
    return std::ceil(shape.m / rows) * std::ceil(shape.n / columns);
  };
  return shape.batch * std::min(tiles(kShort, kLong), tiles(kLong, kShort));
}

// What bounds an operation; `rate` is absent where the peak is taken as it is.
struct Reached {
  const SourcedNumber* rate = nullptr;
  const SourcedNumber* memory = nullptr;
  double start_ns = 0;
  double shape_factor = 1;
};

double ValueOf(const SourcedNumber* number) { return number != nullptr ? number->value : 1; }

void Prefer(const OptionalNumber& number, const SourcedNumber*& instead_of) {
  instead_of = number ? &*number : instead_of;
}

Reached ReachedBy(const DeviceModel& device, const OperatorWork& work) {
  Reached reached{MatrixEfficiency(device, work.op_class), &device.memory_efficiency};
  const ClassEfficiency* const of_class = FindClass(device, work.op_class);
  if (of_class == nullptr) {
    return reached;
  }
  reached.start_ns = of_class->start_ns ? of_class->start_ns->value : 0;
  Prefer(of_class->parts.rate, reached.rate);
  Prefer(of_class->parts.memory, reached.memory);
  const ShapeParts* shape = &of_class->shape;
  if (const ClassEfficiency::OfType* of_type = FindType(*of_class, work.dtype)) {
    Prefer(of_type->parts.rate, reached.rate);
    Prefer(of_type->parts.memory, reached.memory);
    shape = of_type->shape.empty() ? shape : &of_type->shape;
    reached.start_ns = of_type->start_ns ? of_type->start_ns->value : reached.start_ns;
  }
  reached.shape_factor = ShapeFactor(device, *shape, work);
  return reached;
}

// Vectors of 16 bytes are what kernels of matrix units load.
bool IsUnaligned(const OperatorWork& work) {
  constexpr std::int64_t kVectorBytes = 16;
  return work.shape.kind == WorkShapeKind::kProduct &&
         std::ranges::any_of(std::array{work.shape.n, work.shape.k}, [&](float elements) {
           return static_cast<std::int64_t>(elements) * SizeOf(work.dtype) /
                      ValuesPerElement(work.dtype) % kVectorBytes !=
                  0;
         });
}

void AddStarts(const DeviceModel& from, DeviceModel& to) {
  for (const ClassEfficiency& of_class : from.classes) {
    if (!of_class.start_ns) {
      continue;
    }
    const auto at = std::ranges::find_if(
        to.classes, [&](const auto& own) { return own.op_class == of_class.op_class; });
    if (at == to.classes.end()) {
      to.classes.push_back({.op_class = of_class.op_class, .start_ns = of_class.start_ns});
    } else if (!at->start_ns) {
      at->start_ns = of_class.start_ns;
    }
  }
}

}  // namespace

double WavesFactor(const DeviceModel& device, const WorkShape& shape) {
  if (shape.kind != WorkShapeKind::kProduct || !device.multiprocessors) {
    return 1;
  }
  const double waves = TilesOf(shape) / device.multiprocessors->value;
  return waves > 1 ? std::ceil(waves) / waves : 1;
}

double ShapeFactor(const DeviceModel& device, const ShapeParts& parts, const OperatorWork& work) {
  const WorkShape& shape = work.shape;
  double factor = 1;
  if (shape.kind == WorkShapeKind::kNone) {
    return factor;
  }
  const std::pair<const OptionalNumber*, double> halves[] = {
      {&parts.half_m, shape.m}, {&parts.half_n, shape.n}, {&parts.half_k, shape.k}};
  for (const auto& [half, size] : halves) {
    factor *= *half ? 1 + (*half)->value / size : 1;
  }
  if (parts.waves) {
    factor *= 1 + parts.waves->value * (WavesFactor(device, shape) - 1);
  }
  if (parts.backward && shape.kind == WorkShapeKind::kAttentionBackward) {
    factor /= parts.backward->value;
  }
  if (parts.unaligned && IsUnaligned(work)) {
    factor /= parts.unaligned->value;
  }
  return factor;
}

TimeSource TimeSourceOf(NumberSource source) {
  switch (source) {
    case NumberSource::kMeasured:
      return TimeSource::kMeasured;
    case NumberSource::kFitted:
      return TimeSource::kFitted;
    case NumberSource::kDefault:
      return TimeSource::kDefault;
    case NumberSource::kDatasheet:
    case NumberSource::kGiven:
      break;
  }
  return TimeSource::kDatasheet;
}

void ShareStarts(DeviceModel& a, DeviceModel& b) {
  AddStarts(a, b);
  AddStarts(b, a);
}

RooflineTime RooflineOf(const DeviceModel& device, const OperatorWork& work) {
  const bool matrix = MatrixEfficiency(device, work.op_class) != nullptr;
  const Reached reached = ReachedBy(device, work);
  const double rate = RateOf(device, work, matrix).value;
  RooflineTime time;
  const SourcedNumber* source = nullptr;
  const auto take = [&](double ns, TimeBound bound, const SourcedNumber* number) {
    if (ns > time.ns) {
      time.ns = ns;
      time.bound = bound;
      source = number;
    }
  };
  take(work.flops * reached.shape_factor / (rate * ValueOf(reached.rate)) * kSecondNs,
       matrix ? TimeBound::kMatrix : TimeBound::kVector, reached.rate);
  take(work.bytes / (device.memory_bytes_per_second.value * ValueOf(reached.memory)) * kSecondNs,
       TimeBound::kMemory, reached.memory);
  time.ns += reached.start_ns;
  take(device.kernel_least_ns.value, TimeBound::kMin, &device.kernel_least_ns);
  time.source = source != nullptr ? source->source : time.source;
  return time;
}

bool LacksRate(const DeviceModel& device, const OperatorWork& work) {
  return work.flops > 0 && work.dtype != DType::kUnknown &&
         MatrixEfficiency(device, work.op_class) != nullptr &&
         PeakRate(device, work.dtype, true, false) == nullptr;
}

double ProductNsAtPeak(const DeviceModel& device, const OperatorWork& work) {
  return MatrixEfficiency(device, work.op_class) == nullptr
             ? 0
             : work.flops / RateOf(device, work, true).value * kSecondNs;
}

}  // namespace reprise
