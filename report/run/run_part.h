// The ranks and steps of a run, so that runs can be compared in what both have. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "report/run/run.h"

namespace reprise {

// How many steps a rank has, by rank.
using RunPart = std::map<std::int32_t, std::int32_t>;

[[nodiscard]] RunPart PartOf(const RunData& run);

// The ranks that all have, with the least number of their steps. Of parts of one rank each that
// have no number in common, each has its own: its number says only which file it was.
[[nodiscard]] std::vector<RunPart> CommonParts(std::span<const RunPart> parts);

// Leaves out of `run` what is not in `part`: other ranks, and of its ranks the steps after the
// first ones, with their nodes and all that refers to these. A rank that lost steps has no recorded
// step time any more. Telemetry stays.
void KeepPart(const RunPart& part, RunData& run);

}  // namespace reprise
