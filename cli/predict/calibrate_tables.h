// The part of `reprise calibrate` that fits tables of kernels, and shows their errors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/json_fields.h"
#include "core/result.h"
#include "predict/calibration/table_fit.h"

namespace reprise {

struct FittedTable {
  KernelTable table;
  TableFit fit;
};

// In their order. Usage error: two tables of one class. Bad input: a table that cannot be read or
// fitted.
[[nodiscard]] Result<std::vector<FittedTable>> FitTables(const DeviceModel& device,
                                                         const std::vector<std::string>& paths,
                                                         const std::vector<std::string>& columns);

// The classes of the tables instead of the machine's own, but for the rate of attention's backward,
// which tables do not have. Without a fit to captures, the machine is calibrated on the tables.
void TakeTables(std::span<const FittedTable> tables, MachineModel& machine);

[[nodiscard]] Json TablesJson(std::span<const FittedTable> tables);
void PrintTables(std::span<const FittedTable> tables);

}  // namespace reprise
