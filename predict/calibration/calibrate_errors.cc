// What a fit is worth: predictions of captures that it has not seen, beside null models.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predict/calibration/calibrate.h"

namespace reprise {
namespace {

// |predicted / recorded - 1| of a capture's total.
double ErrorOf(const SumsByClass& sums) {
  const PredictedSums total = TotalOf(sums);
  return total.recorded_ns > 0 ? std::abs(total.fitted_ns / total.recorded_ns - 1) : 0;
}

}  // namespace

std::string NamesOf(std::span<const CaptureTimes> captures) {
  std::string names;
  for (const CaptureTimes& capture : captures) {
    names += (names.empty() ? "" : ", ") + capture.name;
  }
  return names;
}

double CaptureTimes::points_ns() const {
  double sum = 0;
  for (const FitPoint& point : points) {
    sum += point.ns * point.calls;
  }
  return sum;
}

Result<std::vector<SumsByClass>> LeaveOneOut(const MachineModel& base,
                                             std::span<const CaptureTimes> captures) {
  std::vector<SumsByClass> all;
  for (std::size_t left_out = 0; captures.size() > 1 && left_out < captures.size(); ++left_out) {
    std::vector<CaptureTimes> others(captures.begin(), captures.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    REPRISE_ASSIGN(const MachineModel fitted, FitMachine(base, others));
    double recorded_ns = 0;
    double peaks_ns = 0;
    for (const CaptureTimes& capture : others) {
      recorded_ns += capture.points_ns();
      for (const FitPoint& point : capture.points) {
        peaks_ns += NsAtPeaks(base.device, point.work) * point.calls;
      }
    }
    SumsByClass& sums = all.emplace_back();
    for (const FitPoint& point : captures[left_out].points) {
      PredictedSums& of_class = sums[static_cast<std::size_t>(point.work.op_class)];
      const double at_peaks_ns = NsAtPeaks(base.device, point.work) * point.calls;
      of_class.recorded_ns += point.ns * point.calls;
      of_class.fitted_ns += RooflineOf(fitted.device, point.work).ns * point.calls;
      of_class.peaks_ns += at_peaks_ns;
      of_class.constant_ns += at_peaks_ns * recorded_ns / peaks_ns;
    }
  }
  return all;
}

PredictedSums TotalOf(const SumsByClass& sums) {
  PredictedSums total;
  for (const PredictedSums& of_class : sums) {
    total.recorded_ns += of_class.recorded_ns;
    total.fitted_ns += of_class.fitted_ns;
    total.constant_ns += of_class.constant_ns;
    total.peaks_ns += of_class.peaks_ns;
  }
  return total;
}

MachineModel Calibrated(MachineModel fitted, std::span<const CaptureTimes> captures,
                        std::span<const SumsByClass> left_out) {
  Calibration calibration{NamesOf(captures), {}, {}};
  std::size_t points = 0;
  for (const CaptureTimes& capture : captures) {
    points += capture.points.size();
  }
  calibration.points = SourcedNumber{static_cast<double>(points), "1", NumberSource::kMeasured,
                                     "kinds of operations: class, type, FLOPs and bytes"};
  if (!left_out.empty()) {
    double sum = 0;
    for (const SumsByClass& sums : left_out) {
      sum += ErrorOf(sums);
    }
    // The smallest error that a file may have: 0 would be no number of a measurement.
    const double mean = std::max(sum / static_cast<double>(left_out.size()), 1e-9);
    calibration.error =
        SourcedNumber{mean, "%", NumberSource::kMeasured,
                      "mean over captures, each predicted from the others, of |predicted / "
                      "recorded - 1| of the time of operations with known work"};
  }
  fitted.calibration = std::move(calibration);
  return fitted;
}

}  // namespace reprise
