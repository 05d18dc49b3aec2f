// What is measured of a run, one kind of quantity at a time. Only report/compare sees this.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "report/compare/compared.h"

namespace reprise {

// A quantity of one run: a value per iteration if each has one, else one value.
using QuantityValues = std::vector<double>;

// On what a quantity rests, so that what does not compare is not divided.
enum class Basis : std::uint8_t {
  kTime,    // of a step
  kEnergy,  // of a step
  kPower,
  kPowerPeaks,
  kHeating,
  kThrottling,
  kMeasured,  // never a model's
};

struct QuantityKind {
  std::string name, label, group, unit;
  Better better = Better::kLower;
  Basis basis = Basis::kTime;
  std::function<QuantityValues(const ComparedRun&)> values;
};

// Of reports.
[[nodiscard]] std::vector<QuantityKind> SummaryKinds();
// Of operations: how the steps passed, inference, imbalance, and what aligns.
[[nodiscard]] std::vector<QuantityKind> OperationKinds();
// All of these, then classes, phases and collectives that any run has.
[[nodiscard]] std::vector<QuantityKind> FindQuantityKinds(const std::vector<ComparedSide>& sides);

}  // namespace reprise
