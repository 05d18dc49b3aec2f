#include "cli/runs/execution.h"

#include "cli/program/given_path.h"
#include "replayer/plan/recorded_run.h"

namespace reprise {

bool IsTrace(const std::string& path) {
  const PathKind kind = FindPathKind(path);
  return kind == PathKind::kTraceSet || kind == PathKind::kTraceFile;
}

Result<RunData> ReadExecution(const std::string& path) {
  return IsTrace(path) ? ReadRecordedRun(path) : ReadRun(path);
}

}  // namespace reprise
