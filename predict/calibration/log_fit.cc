#include "predict/calibration/log_fit.h"

#include <algorithm>
#include <cmath>

#include "predict/calibration/least_squares.h"

namespace reprise {

bool IsOutlier(double predicted_ns, double measured_ns) {
  return std::abs(std::log(predicted_ns / measured_ns)) > std::log(kOutlierFactor);
}

double RelativeError(double predicted_ns, double measured_ns) {
  return std::abs(predicted_ns / measured_ns - 1);
}

std::vector<double> FitLogTimes(const LogModel& model, std::span<const double> measured_ns) {
  // Far more than a nanosecond of any kernel's time, and little against what rows are off by.
  constexpr double kStep = 0.01;
  const auto residuals = [&](std::span<const double> parameters) {
    std::vector<Residual> all;
    const std::vector<double> ns = model.ns(parameters);
    all.reserve(ns.size() + parameters.size());
    for (std::size_t row = 0; row < ns.size(); ++row) {
      all.push_back({std::log(ns[row] / measured_ns[row]) / kRowDeviation, {}});
    }
    std::vector<double> moved(parameters.begin(), parameters.end());
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] = parameters[i] + kStep;
      const std::vector<double> more = model.ns(moved);
      moved[i] = parameters[i] - kStep;
      const std::vector<double> less = model.ns(moved);
      moved[i] = parameters[i];
      for (std::size_t row = 0; row < ns.size(); ++row) {
        const double slope = std::log(more[row] / less[row]) / (2 * kStep);
        if (slope != 0) {
          all[row].slopes.emplace_back(i, slope / kRowDeviation);
        }
      }
    }
    std::ranges::for_each(all, SoftenBeyondOne);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      all.push_back({(parameters[i] - model.expected[i]) / model.deviation[i],
                     {{i, 1 / model.deviation[i]}}});
    }
    return all;
  };
  return MinimizeSquares(residuals, model.expected);
}

}  // namespace reprise
