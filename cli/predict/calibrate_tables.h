// The part of `reprise calibrate` that shows the errors of tables of kernels.
#pragma once

#include <span>

#include "core/json_fields.h"
#include "predict/calibration/kernel_fits.h"

namespace reprise {

[[nodiscard]] Json TablesJson(std::span<const FittedTable> tables);
void PrintTables(std::span<const FittedTable> tables);

}  // namespace reprise
