// Efficiencies of a class of operations from measured times of its kernels: how the rate depends on
// type and shape (predict/simulator/operator_times.h has the model).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/calibration/kernel_table.h"
#include "predict/machine/machine.h"

namespace reprise {

// Of a type, for a fit. Beyond the factor from a first fit, a row is left out. The errors of large
// operations are those from so many FLOPs on.
inline constexpr std::size_t kFewestRows = 50;
inline constexpr double kOutlierFactor = 2, kLargeFlops = 1e11;
// What a row is off by in log space, against which weak expectations of a number weigh.
inline constexpr double kRowDeviation = 0.15;

// |predicted / measured - 1|, medians over rows.
struct TableErrors {
  DType dtype = DType::kUnknown;
  std::uint64_t rows = 0;      // fitted
  std::uint64_t outliers = 0;  // off by more than a factor of 2 from a first fit: left out, and
                               // then in no error
  // Of the rows themselves, of those of 10^11 FLOPs and more (none: nothing), and of rows whose
  // value of m, n or k no fitted row has: a fifth of the values of each left out, by turns.
  double fitted = 0;
  std::optional<double> fitted_large;
  // Nothing where no size has five values.
  std::optional<double> left_out;
  // Null models: one constant for all, likewise left out; and the peaks as they are.
  std::optional<double> constant;
  double peaks = 0;
};

struct TableFit {
  ClassEfficiency of_class;
  std::vector<TableErrors> errors;  // by type
};

// Deterministic. Bad input: fewer than 50 rows of a type, which say nothing about eight numbers; a
// type that `device` has no rate for.
[[nodiscard]] Result<TableFit> FitTable(const DeviceModel& device, const KernelTable& table);

}  // namespace reprise
