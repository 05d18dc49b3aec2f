// A comparison in a sentence. Only report/compare sees this.
#pragma once

#include <string>
#include <vector>

#include "report/compare/compared.h"

namespace reprise {

// Of the side at `position` (1 or more) against the first. `comparison` has its rows and
// differences.
[[nodiscard]] std::string VerdictText(const std::vector<ComparedSide>& sides,
                                      const Comparison& comparison, std::size_t position);

}  // namespace reprise
