// The clocks that a device can have, and what they do to its power and to times.
#pragma once

#include <cstdint>

#include "predict/machine/machine.h"

namespace reprise {

// With f the clock and v the voltage, both relative to those at the highest clock:
//
//   v(f) = low_voltage                                                  f <= ridge
//        = low_voltage + (1 - low_voltage) (f - ridge) / (1 - ridge)    f > ridge
//
// An operation's energy in the core is v^2 times that at the highest clock: the form of Schoonhoven
// et al., Going Green, PMBS 2022, whose power is that energy times f. Clocks are steps below the
// highest, so that a search among them ends.
class ClockCurve {
 public:
  // Without numbers of a curve (HasClockCurve) there is one clock, the highest.
  explicit ClockCurve(const PowerModel& power);

  // Steps below the highest clock: 0 to lowest().
  [[nodiscard]] std::int32_t lowest() const { return lowest_; }
  // Relative to the highest clock.
  [[nodiscard]] double Clock(std::int32_t step) const;
  [[nodiscard]] double Hertz(std::int32_t step) const { return Clock(step) * max_hertz_; }
  // Energy of an operation in the core, relative to that at the highest clock.
  [[nodiscard]] double Energy(std::int32_t step) const;
  // The first step whose clock is no more than `clock`, relative to the highest.
  [[nodiscard]] std::int32_t StepAtMost(double clock) const;

 private:
  double max_hertz_ = 0, step_ = 1, ridge_ = 1, low_voltage_ = 1;
  std::int32_t lowest_ = 0;
};

}  // namespace reprise
