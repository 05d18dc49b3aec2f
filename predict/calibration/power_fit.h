// Power of a device from the watts that tables of kernels have beside their times: joules per FLOP
// and per byte, idle power, the voltage, and the rate at the full clock, fitted together. A kernel
// at the power limit was measured at a lower clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/calibration/kernel_table.h"
#include "predict/machine/machine.h"
#include "predict/machine/units.h"

namespace reprise {

// |predicted / measured - 1| of a loop of one kernel, medians over rows with watts.
struct WattsErrors {
  TableClass of_class = TableClass::kGemm;
  DType dtype = DType::kUnknown;
  std::uint64_t rows = 0;      // fitted
  std::uint64_t at_limit = 0;  // of these, with watts of 95 % of the limit and more
  std::uint64_t outliers = 0;  // watts off by more than a factor of 2 from a first fit: left out,
                               // and then in no error
  // Of the rows' watts, of those of 10^11 FLOPs and more, and of rows whose value of m, n or k (of
  // reductions bytes, of experts tokens, hidden size or experts) no fitted row has; nothing as in
  // TableErrors.
  double fitted = 0;
  std::optional<double> fitted_large, left_out;
  std::optional<double> constant;  // null model: the mean watts of the fitted rows, left out
  // Of the rows' times, at the clock that the limit leaves.
  double time = 0;
};

// One number of the fit.
struct PowerNumber {
  std::string path;  // in a machine file
  Dimension dimension = Dimension::kRatio;
  SourcedNumber number;
  // Standard deviation relative to the number: what the rows leave open, or how far the number
  // moves without some values, whichever is more.
  double deviation = 0;
  bool determined = false;  // false: the machine's own, which the fit has kept
};

// The reading of a meter goes towards the power of what runs; a loop of short kernels ended before
// it came there. The part of the way that it came is 1 - exp(-kernel's time / settle_ns).
struct MeterLag {
  std::string table;
  double settle_ns = 0;  // 0: none can be seen
};

struct PowerFit {
  DeviceModel device;  // with the numbers that are determined
  std::vector<PowerNumber> numbers;
  std::vector<WattsErrors> errors;  // by class and type
  std::vector<MeterLag> meters;     // by table
  std::vector<std::string> notes;   // what was not fitted, and why
};

// `device` must have the classes that the tables' times were fitted to (FitTable); their rates, and
// its power, are what is fitted. Nothing: no row has watts. Deterministic. A note: a device without
// power or clocks; fewer than kFewestRows rows with watts of a class and type. Bad input: watts
// beyond the machine's limit.
[[nodiscard]] Result<std::optional<PowerFit>> FitPower(const DeviceModel& device,
                                                       std::span<const KernelTable> tables);

}  // namespace reprise
