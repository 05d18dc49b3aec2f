// Finds ThermalDetails. Only report/ sees this.
#pragma once

#include <span>

#include "report/measured.h"
#include "report/rank_values.h"
#include "report/thermal_values.h"
#include "report/transfers.h"

namespace reprise {

// Over each sampling rank's measured time; `rank_rows` name the hosts.
[[nodiscard]] ThermalDetails ExamineThermal(std::span<const MeasuredRank> ranks,
                                            std::span<const RankRow> rank_rows,
                                            const TransferSummary& transfers);

}  // namespace reprise
