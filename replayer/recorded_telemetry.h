// What a run keeps of its sampler besides the samples; for replays and monitored programs alike.
#pragma once

#include "run/run.h"
#include "telemetry/sampler.h"

namespace reprise {

// Before sampling: metrics, the devices behind them, and why sources are missing.
void DescribeSampler(const Sampler& sampler, RankWriter& writer);
// After Sampler::Stop: what sampling took, and what went wrong with it.
void SummarizeSampler(const Sampler& sampler, RankWriter& writer);

}  // namespace reprise
