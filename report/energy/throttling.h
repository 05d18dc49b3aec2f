// Finds ThermalDetails. Only report/ sees this.
#pragma once

#include <span>

#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"
#include "report/values/rank_values.h"
#include "report/values/thermal_values.h"

namespace reprise {

// Over each sampling rank's measured time; `rank_rows` name the hosts.
[[nodiscard]] ThermalDetails ExamineThermal(std::span<const MeasuredRank> ranks,
                                            std::span<const RankRow> rank_rows,
                                            const TransferSummary& transfers);

}  // namespace reprise
