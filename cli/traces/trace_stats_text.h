// The text of `reprise stats`.
#pragma once

#include <string>

#include "et_schema/trace_stats.h"

namespace reprise {

// To stdout: a handful of lines whatever the number of ranks; with `verbose` everything.
void PrintTraceStats(const std::string& path, const TraceStats& stats, bool verbose);

}  // namespace reprise
