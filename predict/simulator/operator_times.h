// What an operation takes on a device, from its FLOPs and bytes: a roofline with efficiencies.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/operators.h"
#include "core/records.h"
#include "core/work_shape.h"
#include "predict/machine/machine.h"

namespace reprise {

// The work of one call, as far as its time depends on it.
struct OperatorWork {
  OpClass op_class = OpClass::kOther;
  DType dtype = DType::kUnknown;  // of the elements that it computes with
  double flops = 0;
  double bytes = 0;    // each operand read once, each result written once
  bool known = false;  // false: the trace does not say
  WorkShape shape;     // of products and attention, where the arguments say it
  bool operator==(const OperatorWork&) const = default;
};

// What bounds a time.
enum class TimeBound : std::uint8_t { kMatrix, kVector, kMemory, kMin };

struct RooflineTime {
  double ns = 0;
  TimeBound bound = TimeBound::kMin;
  NumberSource source = NumberSource::kDatasheet;  // of the efficiency or least time that bounds it

  [[nodiscard]] bool by_default() const { return source == NumberSource::kDefault; }
};

// What a time of the model rests on, from what the number that bounds it rests on.
[[nodiscard]] TimeSource TimeSourceOf(NumberSource source);

// The longest of: FLOPs at the peak rate of the units that compute them, bytes at the memory's
// bandwidth, each times the part that operations of this class and type reach (of the type, else of
// the class, else the device's efficiency), and the class's start added; and the least time of a
// kernel. Where the operation has a shape and its class (or type) numbers for it, the FLOPs' time
// is longer by ShapeFactor. Products (gemm, attention, conv) run on matrix units, float32
// convolutions as tf32 where the device has it, as cuDNN does by default. A type that the device
// has no rate for runs at float32's.
[[nodiscard]] RooflineTime RooflineOf(const DeviceModel& device, const OperatorWork& work);

// How much longer FLOPs of this shape take than those of a large operation; 1 or more but for
// attention's backward. The product of 1 + half / size over the sizes that have a `half` (an
// operation of that size reaches half of the rate); 1 + waves (w - 1), where a product's tiles fill
// the multiprocessors' last wave by 1 / w; of attention's backward, 1 / backward; and 1 / unaligned
// of a product whose rows, of n or k elements, are no multiple of 16 bytes.
[[nodiscard]] double ShapeFactor(const DeviceModel& device, const ShapeParts& parts,
                                 const OperatorWork& work);

// w / (waves of tiles) with w the next whole number, of a product on the device's multiprocessors;
// 1 of other shapes, and where the device's number of them is unknown.
[[nodiscard]] double WavesFactor(const DeviceModel& device, const WorkShape& shape);

// For ratios of the two: a class's start that one device lacks is taken to be the other's. Without
// it a small operation would have no time on one of them.
void ShareStarts(DeviceModel& a, DeviceModel& b);

// Whether it is a product of a type that the device has no rate for.
[[nodiscard]] bool LacksRate(const DeviceModel& device, const OperatorWork& work);

// Of products: their FLOPs at the peak rate, without efficiency; 0 for other operations. A step's
// sum over its time is the hardware FLOPs utilisation.
[[nodiscard]] double ProductNsAtPeak(const DeviceModel& device, const OperatorWork& work);

}  // namespace reprise
