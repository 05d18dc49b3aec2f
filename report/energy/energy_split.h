// Splits the energy of meters among operations in one sweep over time. The rule is
// docs/definitions.md's ("Energy").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/energy/power_curve.h"
#include "report/nodes/intervals.h"

namespace reprise {

struct EnergyShare {
  double joules = 0;
  double above_idle_joules = 0;  // less the idle power of the meters, split alike
};

// What no operation of one meter gets.
struct MeterRemainder {
  double idle_joules = 0;  // while nothing ran
  double gap_joules = 0;   // while the meter was not read, by interpolation
};

struct EnergySplit {
  std::vector<EnergyShare> operations;  // by operation
  std::vector<MeterRemainder> meters;   // by meter
};

struct SplitMeter {
  const PowerCurve* curve = nullptr;
  double idle_watts = 0;  // 0 where unknown: above_idle_joules means nothing then
};

// The curves' window is the window; what operations do outside of it gets nothing. At each instant
// every operation then running gets an equal share. The shares and remainders sum to the curves'
// totals. O((operations + points) log operations).
//
// `above_idle_joules` (parallel to `operations`, or empty) are energies of a model, of which the
// curve of the only meter is the sum: operations get these, and equal shares of idle power alone.
[[nodiscard]] EnergySplit SplitEnergy(std::span<const SplitMeter> meters,
                                      std::span<const Interval> operations,
                                      std::span<const double> above_idle_joules = {});

}  // namespace reprise
