// A set's files with more or fewer data- or tensor-parallel ranks.
#pragma once

#include <string>

#include "core/result.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/rescale.h"

namespace reprise {

// `kind`: data or tensor, of which the request has a number. Writes files, classes, and the job of
// a generated set, into a directory that is there, and adds to the summary. Bad input, usage error:
// as RescaleSet.
[[nodiscard]] Status WriteReplicas(const TraceSet& set, const RescaleRequest& request,
                                   GroupKind kind, const std::string& directory,
                                   RescaleSummary& summary);

}  // namespace reprise
