// Efficiencies of a machine from captures: what `reprise calibrate` fits. docs/simulation.md has
// the model's form; bench/predict/README.md its errors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/machine/machine.h"
#include "predict/simulator/operator_times.h"

namespace reprise {

// One kind of operation in one capture: same class, type, FLOPs and bytes.
struct FitPoint {
  OperatorWork work;
  double ns = 0;  // recorded, mean of its calls
  double calls = 0;
};

// What a capture says about its machine. Times in ns.
struct CaptureTimes {
  std::string name;
  std::vector<FitPoint> points;  // of operations whose work is known, and that took time
  double operations_ns = 0;      // of all operations; those without known work are no points
  // One for each case that the recording has: from a launch's end to the start on an idle stream;
  // a kernel's own time; from launch to launch of one host thread that did not wait in between.
  std::vector<double> launch_latency_ns, kernel_ns, launch_apart_ns;

  [[nodiscard]] double points_ns() const;
};

// "a, b".
[[nodiscard]] std::string NamesOf(std::span<const CaptureTimes> captures);

// The base's numbers, with efficiencies by class and type, a start for each class, launch latency,
// least kernel time and host's time for a launch fitted to the captures; source and reference of
// each say so. What no point speaks for stays a default: the mean of what was fitted.
// Deterministic. Bad input: captures without a point.
[[nodiscard]] Result<MachineModel> FitMachine(const MachineModel& base,
                                              std::span<const CaptureTimes> captures);

// Of operations of known work: recorded sums, and predicted ones.
struct PredictedSums {
  double recorded_ns = 0;
  double fitted_ns = 0;    // by the machine that is fitted to the other captures
  double constant_ns = 0;  // null model: time at the peaks, times one constant of the others
  double peaks_ns = 0;     // null model: time at the peaks, whichever binds
};
using SumsByClass = std::array<PredictedSums, kOpClassCount>;

// For each capture: predicted from the others. Empty for a single capture. As FitMachine.
[[nodiscard]] Result<std::vector<SumsByClass>> LeaveOneOut(const MachineModel& base,
                                                           std::span<const CaptureTimes> captures);
[[nodiscard]] PredictedSums TotalOf(const SumsByClass& sums);

// Time of an operation at the peaks: FLOPs or bytes, whichever binds; ns.
[[nodiscard]] double NsAtPeaks(const DeviceModel& device, const OperatorWork& work);

// FitMachine, with what was fitted, to how many points and with which error when left out
// (`calibration`), for a file.
[[nodiscard]] MachineModel Calibrated(MachineModel fitted, std::span<const CaptureTimes> captures,
                                      std::span<const SumsByClass> left_out);

}  // namespace reprise
