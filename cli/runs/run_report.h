// The end of a replay or a simulation: the short report, and what later reports start from.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.h"

namespace reprise {

// On stdout, as text or as the JSON of `reprise report --json`. Of a run of more ranks than are
// merged in full, whose report takes long, only how to get it.
[[nodiscard]] Status PrintRunReport(const std::string& run, bool json);

// Of large files of these ranks, or of all, what their nodes say by themselves
// (report/stored_sums.h). Where it cannot be written, a warning says that reports take longer.
void KeepSums(const std::string& run, std::span<const std::int32_t> ranks);
void KeepSums(const std::string& run);

}  // namespace reprise
