#include "predict/simulator/power/power_clock.h"

#include <algorithm>
#include <cmath>

namespace reprise {

ClockCurve::ClockCurve(const PowerModel& power) {
  max_hertz_ = power.clock_max_hertz ? power.clock_max_hertz->value : 0;
  if (!power.clock_max_hertz || !power.clock_min_hertz || !power.clock_ridge_hertz ||
      !power.clock_step_hertz || !power.low_voltage) {
    return;
  }
  step_ = power.clock_step_hertz->value / max_hertz_;
  ridge_ = power.clock_ridge_hertz->value / max_hertz_;
  low_voltage_ = power.low_voltage->value;
  const double below = (max_hertz_ - power.clock_min_hertz->value) / power.clock_step_hertz->value;
  lowest_ = static_cast<std::int32_t>(std::floor(below + 1e-9));
}

double ClockCurve::Clock(std::int32_t step) const { return 1 - step * step_; }

double ClockCurve::Energy(std::int32_t step) const {
  const double clock = Clock(step);
  // At the highest clock exactly 1, also where the ridge is there.
  const double voltage = step == 0 ? 1
                         : clock <= ridge_
                             ? low_voltage_
                             : low_voltage_ + (1 - low_voltage_) * (clock - ridge_) / (1 - ridge_);
  return voltage * voltage;
}

std::int32_t ClockCurve::StepAtMost(double clock) const {
  const double steps = std::ceil((1 - clock) / step_ - 1e-9);
  return std::clamp(static_cast<std::int32_t>(steps), 0, lowest_);
}

}  // namespace reprise
