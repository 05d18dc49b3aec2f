// The energy of operations and transfers on a described device.
#pragma once

#include <cstdint>

#include "core/comm.h"
#include "core/operators.h"
#include "predict/machine/machine.h"
#include "predict/simulator/network.h"
#include "predict/simulator/operator_times.h"

namespace reprise {

// Of one execution, above the device's idle power.
struct NodeEnergy {
  double core_joules = 0;   // at the highest clock; follows the voltage
  double other_joules = 0;  // memory and links, which have clocks of their own
  // What the core's clock bounds of its time: at clock f, relative to the highest, it takes
  // max(1, core_share / f) times as long.
  double core_share = 0;

  [[nodiscard]] bool any() const { return core_joules > 0 || other_joules > 0; }
};

// The units and format that RooflineOf computes work with: where its rate and its joules per FLOP
// stand in a device's tables.
struct UnitFormat {
  bool matrix = false;
  RateFormat format = RateFormat::kFloat32;
  bool operator==(const UnitFormat&) const = default;
};
[[nodiscard]] UnitFormat UnitFormatOf(const DeviceModel& device, const OperatorWork& work);

// joules per FLOP x FLOPs in the core, joules per byte x bytes of memory. The units and format are
// those that RooflineOf computes with; without an energy of their own, vector float32's. The device
// must have power (HasPower).
[[nodiscard]] NodeEnergy OperationEnergy(const DeviceModel& device, const OperatorWork& work);

// Of one member of a transfer with `bytes` (AlgorithmBytes): it sends BusFactor x bytes, of a
// send's pair all; each byte is read from memory and written to it once. The bytes of a ring cross
// the levels as its hops do: of d_0 hops, d_l - d_(l+1) cross level l
// (predict/simulator/network.h); of other transfers all cross the level that joins the members.
[[nodiscard]] NodeEnergy TransferEnergy(const MachineModel& machine, CommKind kind, double bytes,
                                        const GroupShape& shape);

}  // namespace reprise
