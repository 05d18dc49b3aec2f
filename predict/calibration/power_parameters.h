// The numbers that a fit of watts moves: which ones, between which bounds, and where they stand in
// a device. Part of predict/calibration/power_fit.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "predict/calibration/least_squares.h"
#include "predict/calibration/power_fit.h"

namespace reprise {

// What a device and the tables' meters would be.
struct PowerState {
  DeviceModel device;
  std::vector<double> settle_ns;  // by table; 0: no lag
};

// Rows of one class and type.
struct WattsKind {
  OperatorWork work;  // of one of them; of experts their products'
  bool experts = false;
  std::size_t table = 0;
};

// Products sweep from what memory bounds to what the core does. Others do not: joules that are
// fitted to products hold for them, too.
enum class FittedPower { kAll, kRates };

// Points are values of the numbers that are free, in their order, as the fit moves them:
// logarithms; of the voltage the logit between its bounds.
class PowerParameters {
 public:
  // idle, joules per byte, the voltage; joules per FLOP of each format; the rate of each class and
  // type; the lag of each table's meter. kRates: the last two.
  PowerParameters(const DeviceModel& device, std::span<const KernelTable* const> tables,
                  const std::vector<WattsKind>& kinds, FittedPower what);

  // The device's own numbers.
  [[nodiscard]] std::vector<double> Expected() const;
  [[nodiscard]] PowerState StateAt(std::span<const double> point) const;
  // A residual of each free number, weak: without rows it stays where it is expected.
  void AddExpected(std::span<const double> point, std::vector<Residual>& residuals) const;
  // Keeps the device's own of the number with the largest deviation, if that is above `most`.
  // False: none is. `deviations` are of the free ones.
  [[nodiscard]] bool KeepWorst(std::span<const double> deviations, double most);
  // The numbers of the state into the fit, with what each rests on.
  void Take(const PowerState& state, std::span<const double> deviations,
            const std::string& reference, PowerFit& fit) const;

 private:
  struct Parameter {
    std::string path;
    Dimension dimension = Dimension::kRatio;
    // The number in a device; nothing: the lag of `table`'s meter.
    std::function<SourcedNumber*(DeviceModel&)> number;
    std::size_t table = 0;
    double expected = 0;
    bool voltage = false;
    bool free = true;
    double largest_deviation = 0;  // of a number that is kept
  };
  void Add(const std::string& path, Dimension dimension,
           std::function<SourcedNumber*(DeviceModel&)> number, bool voltage = false);

  const DeviceModel& device_;
  std::vector<std::string> tables_;
  std::vector<Parameter> parameters_;
};

}  // namespace reprise
