#include "cli/verified_set.h"

#include "et_schema/trace_set.h"

namespace reprise {

Status VerifySet(const std::string& directory) {
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(directory));
  REPRISE_TRY(set.Verify());
  return {};
}

}  // namespace reprise
