// The operations whose time differs most between recording and replay; transfers are compared
// elsewhere, by group. Only report/ sees this.
#pragma once

#include <span>
#include <vector>

#include "report/fidelity.h"
#include "report/measured.h"

namespace reprise {

// By operation, class and kernel, over all ranks; the ten with the largest |difference|.
[[nodiscard]] std::vector<OffenderRow> FindOffenders(std::span<const MeasuredRank> ranks,
                                                     bool oversubscribed);

}  // namespace reprise
