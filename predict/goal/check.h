// Whether a GOAL schedule can run to its end.
#pragma once

#include "converters/goal/schedule.h"
#include "core/result.h"

namespace reprise {

// Where sends do not wait for their receives. Bad input: operations that wait for each other, as
// where a capture's broadcast ended on a rank before others came, and the algorithm has them meet.
[[nodiscard]] Status CheckEnds(const goal::RankSchedules& ranks);

}  // namespace reprise
