// Where a simulated run's times come from (TimeSource), in words.
#pragma once

#include <string>

#include "report/values/report.h"

namespace reprise {

// All of a run's operations, and its transfers; from the last arrival on.
struct RunSources {
  SourceTimes operations_ns{}, transfers_ns{};
};
[[nodiscard]] RunSources SourcesOf(const Report& report);

// Whether some time has a source: runs of `simulate` of schema 8 and later.
[[nodiscard]] bool HasSources(const RunSources& sources);
// "scaled 80 %, datasheet 15 %, default 5 %", the largest first; empty without any time.
[[nodiscard]] std::string SourcesText(const SourceTimes& from_ns);
// The one that most of the time has: "datasheet", or "datasheet 80 %" of a mixture; "-": none.
[[nodiscard]] std::string MainSourceText(const SourceTimes& from_ns);

}  // namespace reprise
