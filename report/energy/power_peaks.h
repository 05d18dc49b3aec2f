// Power above the usual, and heating (report/values/thermal_values.h). Only report/ sees this.
#pragma once

#include <optional>
#include <span>

#include "report/energy/series.h"
#include "report/values/thermal_values.h"

namespace reprise {

// Of a series of watts; nothing for fewer than two steps. Names are the caller's to fill in.
[[nodiscard]] std::optional<PowerPeakRow> DescribePeaks(std::span<const SeriesStep> watts,
                                                        std::optional<double> limit_watts);

// Of a series of degrees Celsius, likewise.
[[nodiscard]] std::optional<HeatingRow> DescribeHeating(std::span<const SeriesStep> celsius);

}  // namespace reprise
