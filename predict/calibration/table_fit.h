// Efficiencies of a class of operations from measured times of its kernels: how the rate depends on
// type and shape (predict/simulator/operator_times.h has the model).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/calibration/kernel_table.h"
#include "predict/calibration/log_fit.h"
#include "predict/machine/machine.h"

namespace reprise {

// |predicted / measured - 1|, medians over rows.
struct TableErrors {
  std::string type;            // "bfloat16"; of collectives the operation
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
  std::optional<double> other;  // with another machine's numbers at these peaks
};

struct TableFit {
  ClassEfficiency of_class;
  std::vector<TableErrors> errors;  // by type
};

// Deterministic. Bad input: fewer than 50 rows of a type, which say nothing about eight numbers; a
// type that `device` has no rate for.
[[nodiscard]] Result<TableFit> FitTable(const DeviceModel& device, const KernelTable& table);

}  // namespace reprise
