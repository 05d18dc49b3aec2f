// The directory that a run goes into, and what it holds of trace, machine and sampler; for replays
// and monitored programs alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.h"
#include "et_schema/graph.h"
#include "replayer/plan/run_request.h"
#include "report/run/run.h"
#include "report/telemetry/sampler.h"

namespace reprise {

// Creates it. One that is not empty is a usage error unless `force` and it holds a run
// (core/output_kind.h), whose files are removed and nothing else.
[[nodiscard]] Status PrepareRunDirectory(const std::string& directory, bool force);
// What the run keeps of who made it, where and when.
[[nodiscard]] Provenance ProvenanceOf(const RunRequest& request);
// The number of a rank's host, in the order of their first ranks. `nodes` as a communicator has
// them: by rank, the lowest rank on the same host.
[[nodiscard]] int HostNumber(std::span<const std::int32_t> nodes, int rank);
// The facts of a rank's trace: the recorded job's machine, as far as its capture has it, and the
// time that times in the trace count from. `times`: those of its steps too.
[[nodiscard]] RankFacts TraceFacts(const Graph& graph, bool times);
// The facts of the NUMA nodes that this process may use, as far as the kernel has them. `root`:
// what comes before "/proc" and "/sys".
void RecordProcessPlacement(const std::string& root, RankWriter& writer);
// Before sampling: metrics, the devices behind them, and why sources are missing.
void DescribeSampler(const Sampler& sampler, RankWriter& writer);
// After Sampler::Stop: what sampling took, and what went wrong with it.
void SummarizeSampler(const Sampler& sampler, RankWriter& writer);
// "2026-05-01T12:00:00Z", for manifests.
[[nodiscard]] std::string UtcNow();

}  // namespace reprise
