// What a job that breaks a rule could be instead.
#pragma once

#include <string>

#include "core/result.h"
#include "predict/workload/job/options.h"

namespace reprise {

// "--tp 2, 4 or 8; --ranks 60 or 72": for each size of layout and batch that is given, the nearest
// values with which the job breaks no rule, the rest as given. Empty: no single one mends it.
[[nodiscard]] std::string ValidValuesText(const JobOptions& options);

// MakeJob, whose usage errors end with these values.
[[nodiscard]] Result<Workload> MakeJobOrSuggest(const JobOptions& options);

}  // namespace reprise
