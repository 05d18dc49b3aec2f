// A trace set as an execution: what its ranks did and when, in the form of a run, without writing
// one (report/run/run.h): its records and steps are the recorded ones, and every
// node has a record.
#pragma once

#include <string>

#include "core/result.h"
#include "report/run/run.h"

namespace reprise {

// Of a set's ranks that are there, or of one .et file. Times are rank 0's, relative to the earliest
// base. The manifest's option `mode` is kRecordedMode. Bad input: a damaged set, one without times,
// or a folded one of more ranks than can be read one after the other.
[[nodiscard]] Result<RunData> ReadRecordedRun(const std::string& path);

}  // namespace reprise
