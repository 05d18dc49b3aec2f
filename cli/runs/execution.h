// What report, compare and export take: a run, or a trace set as the run that it recorded.
#pragma once

#include <string>

#include "core/result.h"
#include "report/run/run.h"

namespace reprise {

// A set's directory or one of its files.
[[nodiscard]] bool IsTrace(const std::string& path);

// Of a trace, ReadRecordedRun; else ReadRun.
[[nodiscard]] Result<RunData> ReadExecution(const std::string& path);

}  // namespace reprise
