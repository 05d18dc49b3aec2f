#include "predict/simulator/power_work.h"

#include <algorithm>

namespace reprise {
namespace {

// The energy beside the rate in the same table: `rate` is one of the device's.
double JoulesPerFlop(const DeviceModel& device, const OperatorWork& work, bool product) {
  const SourcedNumber* const rate =
      PeakRate(device, work.dtype, product, work.op_class == OpClass::kConv);
  const PowerModel& power = device.power;
  for (std::size_t i = 0; rate != nullptr && i < kRateFormats; ++i) {
    const OptionalNumber& matrix = device.matrix_flops_per_second[i];
    if (matrix && &*matrix == rate && power.matrix_joules_per_flop[i]) {
      return power.matrix_joules_per_flop[i]->value;
    }
    const OptionalNumber& vector = device.vector_flops_per_second[i];
    if (vector && &*vector == rate && power.vector_joules_per_flop[i]) {
      return power.vector_joules_per_flop[i]->value;
    }
  }
  return power.vector_joules_per_flop[static_cast<std::size_t>(RateFormat::kFloat32)]->value;
}

// Part of a ring's hops that cross a level.
double HopShare(const GroupShape& shape, std::size_t level) {
  const auto of = [&shape](std::size_t l) {
    return l < shape.levels.size() ? static_cast<double>(shape.levels[l].domains) : 0.0;
  };
  return (of(level) - of(level + 1)) / std::max(of(0), 1.0);
}

bool IsRing(CommKind kind) {
  return kind == CommKind::kAllReduce || kind == CommKind::kAllGather ||
         kind == CommKind::kReduceScatter || kind == CommKind::kBroadcast ||
         kind == CommKind::kReduce;
}

}  // namespace

NodeEnergy OperationEnergy(const DeviceModel& device, const OperatorWork& work) {
  NodeEnergy energy;
  OperatorWork one = work;
  one.flops = 1;
  const bool product = ProductNsAtPeak(device, one) > 0;
  energy.core_joules = work.flops * JoulesPerFlop(device, work, product);
  energy.other_joules = work.bytes * device.power.memory_joules_per_byte->value;
  OperatorWork core = work;
  core.bytes = 0;
  const RooflineTime of_core = RooflineOf(device, core);
  const bool bounded = of_core.bound == TimeBound::kMatrix || of_core.bound == TimeBound::kVector;
  const double all_ns = RooflineOf(device, work).ns;
  energy.core_share = bounded && all_ns > 0 ? std::min(of_core.ns / all_ns, 1.0) : 0;
  return energy;
}

NodeEnergy TransferEnergy(const MachineModel& machine, CommKind kind, double bytes,
                          const GroupShape& shape) {
  NodeEnergy energy;
  if (shape.members < 2 || kind == CommKind::kBarrier) {
    return energy;
  }
  const double memory = machine.device.power.memory_joules_per_byte->value;
  // A pair's sender reads and sends, its receiver writes; a member of a collective does both.
  const bool sends = kind != CommKind::kRecv;
  double link = 0;
  for (std::size_t level = 0; sends && level < shape.levels.size(); ++level) {
    const double share =
        IsRing(kind) ? HopShare(shape, level) : (level + 1 == shape.levels.size() ? 1.0 : 0.0);
    const OptionalNumber& joules = machine.links[level].joules_per_byte;
    link += joules ? share * joules->value : 0;
  }
  const double sent = bytes * BusFactor(kind, static_cast<int>(shape.members));
  energy.other_joules = sent * (link + memory * (IsPointToPoint(kind) ? 1 : 2));
  return energy;
}

}  // namespace reprise
