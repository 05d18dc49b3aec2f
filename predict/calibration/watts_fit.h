// The least squares of watts and times. Part of predict/calibration/power_fit.
#pragma once

#include <span>
#include <vector>

#include "predict/calibration/power_parameters.h"
#include "predict/calibration/table_fit.h"

namespace reprise {

struct WattsRow {
  const KernelRow* row = nullptr;  // of experts: the device has numbers for their type
  std::size_t table = 0;
  std::size_t kind = 0;  // class and type
  double limit_watts = 0;
};

struct Reading {
  double ns = 0, watts = 0;
};

// A loop of the row's kernel, as the table's meter shows it.
[[nodiscard]] Reading ReadingOf(const PowerState& state, const WattsRow& row);
// log(predicted / measured) of both.
[[nodiscard]] Reading OffOf(const PowerState& state, const WattsRow& row);

class WattsFit {
 public:
  WattsFit(PowerParameters parameters, std::size_t tables)
      : parameters_(std::move(parameters)),
        deviations_(tables, Reading{kRowDeviation, kRowDeviation}) {}

  // The point at which watts and times of the rows are met best, from `start` on.
  [[nodiscard]] std::vector<double> Found(const std::vector<WattsRow>& all,
                                          std::vector<double> start) const;
  // What the rows leave open of the free numbers, as standard deviations.
  [[nodiscard]] std::vector<double> Open(const std::vector<WattsRow>& all,
                                         std::span<const double> at) const;
  // Leaves out what a first fit cannot explain, and counts it by kind. From then on tables weigh by
  // how well it explains them.
  void DropOutliers(std::vector<WattsRow>& rows, const PowerState& first,
                    std::vector<WattsErrors>& errors);
  [[nodiscard]] PowerParameters& parameters() { return parameters_; }

 private:
  [[nodiscard]] std::vector<Residual> ResidualsOf(const std::vector<WattsRow>& rows,
                                                  const std::vector<double>& weights,
                                                  std::span<const double> at) const;

  PowerParameters parameters_;
  // What rows are off by in log space, by table: kRowDeviation in the first fit.
  std::vector<Reading> deviations_;
};

}  // namespace reprise
