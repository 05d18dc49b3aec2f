#include "predict/simulator/power/power_work.h"

#include <algorithm>

namespace reprise {
namespace {

double JoulesPerFlop(const DeviceModel& device, const OperatorWork& work) {
  const auto [matrix, format] = UnitFormatOf(device, work);
  const PowerModel& power = device.power;
  const OptionalNumber& joules =
      (matrix ? power.matrix_joules_per_flop
              : power.vector_joules_per_flop)[static_cast<std::size_t>(format)];
  return joules
             ? joules->value
             : power.vector_joules_per_flop[static_cast<std::size_t>(RateFormat::kFloat32)]->value;
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

UnitFormat UnitFormatOf(const DeviceModel& device, const OperatorWork& work) {
  const bool product = MatrixEfficiency(device, work.op_class) != nullptr;
  const SourcedNumber* const rate =
      PeakRate(device, work.dtype, product, work.op_class == OpClass::kConv);
  for (std::size_t i = 0; rate != nullptr && i < kRateFormats; ++i) {
    for (const auto* const rates :
         {&device.matrix_flops_per_second, &device.vector_flops_per_second}) {
      if ((*rates)[i] && &*(*rates)[i] == rate) {
        return {rates == &device.matrix_flops_per_second, static_cast<RateFormat>(i)};
      }
    }
  }
  return {};
}

NodeEnergy OperationEnergy(const DeviceModel& device, const OperatorWork& work) {
  NodeEnergy energy;
  energy.core_joules = work.flops * JoulesPerFlop(device, work);
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
