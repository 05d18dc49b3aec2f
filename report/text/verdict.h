// Finds the verdict of a report, and what it rests on.
#pragma once

#include <cstdint>

#include "report/values/report.h"
#include "report/values/verdict_values.h"

namespace reprise {

// Of a report that has all else. `same_machine`: the user knows that the run was recorded where it
// was replayed.
[[nodiscard]] Verdict FindVerdict(const Report& report, bool same_machine);

// With those that the run's ranks stand for.
[[nodiscard]] std::int64_t RanksOf(const Report& report);
// Sums over all nodes of all ranks are of so many steps of one rank.
[[nodiscard]] std::int64_t RankSteps(const Report& report);

// Whether recorded operations ran beside others: they add up to more than they cover of the steps.
[[nodiscard]] bool RanBesideOthers(const Report& report);

// Whether tables have recorded times beside the execution's own. False of sets that generators
// wrote, and of a set itself, whose own times are the recorded ones.
[[nodiscard]] bool HasRecordedTimes(const Report& report);

}  // namespace reprise
