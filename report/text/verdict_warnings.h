// What changes how a verdict reads.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/run/run.h"

namespace reprise {

struct Report;
struct Verdict;

// The most important first. `verdict` has its kind and its times.
[[nodiscard]] std::vector<std::string> VerdictWarnings(const Report& report,
                                                       const Verdict& verdict);

// A run of `reprise monitor`: nothing was replayed, so there is no coverage and no fidelity.
[[nodiscard]] bool IsMonitored(const RunManifest& manifest);
// A trace set: what was recorded, and nothing to compare it with.
[[nodiscard]] bool IsRecorded(const RunManifest& manifest);
// Nothing was executed.
[[nodiscard]] bool IsSimulated(const RunManifest& manifest);
// Something ran: a replay, or a program that was watched.
[[nodiscard]] bool Runs(const RunManifest& manifest);
[[nodiscard]] bool IsReplay(const RunManifest& manifest);
// Of `simulate`: the machine; empty: none, or no simulation.
[[nodiscard]] std::string SimulatedMachine(const RunManifest& manifest);

// Whether the run had this option, with this value.
[[nodiscard]] bool HasOption(const RunManifest& manifest, const std::string& name,
                             std::string_view value);

// What a prediction rests on, where that is little, and what it could not do: what must be said
// first. `options` are those that `simulate` gives its run, docs/run_format.md.
[[nodiscard]] std::vector<std::string> PredictionWarnings(
    const std::map<std::string, std::string>& options);

}  // namespace reprise
