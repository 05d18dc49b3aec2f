// What a device takes while one operation runs over and over on it, by the simulator's own model
// (predict/simulator/power/power.h).
#pragma once

#include "predict/machine/machine.h"
#include "predict/simulator/expert_times.h"
#include "predict/simulator/operator_times.h"

namespace reprise {

struct LoopPower {
  double ns = 0;     // of one operation
  double watts = 0;  // of the device, mean of the loop
  double clock = 1;  // relative to the highest
};

// The highest clock with which the loop is within the limit; between the steps of the clock, as a
// limiter that goes to and fro between two of them. The device must have power and clocks
// (HasPower, HasClockCurve).
[[nodiscard]] LoopPower LoopPowerOf(const DeviceModel& device, const OperatorWork& work,
                                    double limit_watts);
// Of a layer of experts. Its products and what moves its tokens have one clock; the part of its
// time that is not moving follows it where FLOPs bound the products.
[[nodiscard]] LoopPower LoopPowerOf(const DeviceModel& device, const ExpertNumbers& numbers,
                                    const ExpertWork& work, DType dtype, double limit_watts);

}  // namespace reprise
