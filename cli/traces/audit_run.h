// reprise audit RUN.
#pragma once

#include "converters/share/audit/audit.h"
#include "core/result.h"

namespace reprise {

// What a run says of who made it, where and when, and the names of its set. Bad input: no run, or a
// damaged one.
[[nodiscard]] Result<AuditReport> AuditRun(const AuditRequest& request);

}  // namespace reprise
