#include "predict/calibration/loop_power.h"

#include "predict/simulator/power_track.h"
#include "predict/simulator/power_work.h"

namespace reprise {

LoopPower LoopPowerOf(const DeviceModel& device, const OperatorWork& work, double limit_watts) {
  const ClockCurve curve(device.power);
  const double full_ns = RooflineOf(device, work).ns;
  const PoweredNode node{.op_class = work.op_class, .energy = OperationEnergy(device, work)};
  const auto at = [&](std::int32_t step) {
    const double clock = curve.Clock(step);
    return LoopPower{full_ns * node.Stretch(clock),
                     device.power.idle_watts->value + NodeWatts(node, full_ns, curve, step), clock};
  };
  const LoopPower full = at(0);
  if (full.watts <= limit_watts) {
    return full;
  }
  // Watts fall from step to step.
  std::int32_t above = 0;
  std::int32_t within = curve.lowest();
  while (within - above > 1) {
    const std::int32_t middle = (above + within) / 2;
    (at(middle).watts > limit_watts ? above : within) = middle;
  }
  const LoopPower high = at(above);
  const LoopPower low = at(within);
  if (low.watts > limit_watts || high.watts <= low.watts) {
    return low;
  }
  const double part = (high.watts - limit_watts) / (high.watts - low.watts);
  const auto between = [part](double a, double b) { return a + part * (b - a); };
  return {between(high.ns, low.ns), limit_watts, between(high.clock, low.clock)};
}

}  // namespace reprise
