#include "predict/calibration/loop_power.h"

#include "predict/simulator/power/power_track.h"
#include "predict/simulator/power/power_work.h"

namespace reprise {

namespace {

// `full_ns`: of one at the highest clock.
LoopPower LoopOf(const DeviceModel& device, const NodeEnergy& energy, double full_ns,
                 double limit_watts) {
  const ClockCurve curve(device.power);
  const PoweredNode node{.energy = energy};
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

}  // namespace

LoopPower LoopPowerOf(const DeviceModel& device, const OperatorWork& work, double limit_watts) {
  return LoopOf(device, OperationEnergy(device, work), RooflineOf(device, work).ns, limit_watts);
}

LoopPower LoopPowerOf(const DeviceModel& device, const ExpertNumbers& numbers,
                      const ExpertWork& work, DType dtype, double limit_watts) {
  const OperatorWork products{OpClass::kGemm, dtype, work.flops,
                              work.product_bytes + work.moved_bytes, true};
  NodeEnergy energy = OperationEnergy(device, products);
  const double all_ns = ExpertNs(device, numbers, work, dtype);
  ExpertWork core = work;
  core.moved_bytes = 0;
  const double products_ns = ExpertNs(device, numbers, core, dtype);
  core.product_bytes = 0;
  const double core_ns = ExpertNs(device, numbers, core, dtype);
  energy.core_share = core_ns < products_ns ? 0 : core_ns / all_ns;
  return LoopOf(device, energy, all_ns, limit_watts);
}

}  // namespace reprise
