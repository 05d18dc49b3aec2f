// Does an anonymized set replay as the original does?
#pragma once

#include <optional>
#include <string>

#include "core/result.h"

namespace reprise {

// The first difference: of the graphs (share/anonymize/set_comparison.h), or of what the
// replay plans from them: kernels, costs, gaps, actors, order of transfers. Two ranks in memory at
// a time.
[[nodiscard]] Result<std::optional<std::string>> FirstDifference(const std::string& original,
                                                                 const std::string& result);

}  // namespace reprise
