// The part of `reprise calibrate` that shows what watts of tables say
// (predict/calibration/power_fit.h).
#pragma once

#include <optional>

#include "core/json_fields.h"
#include "predict/calibration/power_fit.h"

namespace reprise {

// Null where no row has watts.
[[nodiscard]] Json PowerJson(const std::optional<PowerFit>& fit);
// Nothing where no row has watts.
void PrintPower(const std::optional<PowerFit>& fit);

}  // namespace reprise
