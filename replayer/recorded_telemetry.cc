#include "replayer/recorded_telemetry.h"

#include <string>

namespace reprise {

void DescribeSampler(const Sampler& sampler, RankWriter& writer) {
  writer.AppendMetrics(sampler.metrics());
  writer.AppendMeters(sampler.devices());
  for (const auto& [source, why] : sampler.unavailable()) {
    writer.SetFact("telemetry." + source, why);
  }
}

void SummarizeSampler(const Sampler& sampler, RankWriter& writer) {
  writer.SetFact(kFactSamplerCpuNs, std::to_string(sampler.cpu_ns()));
  for (const auto& [name, counter] : sampler.diagnostics().Snapshot()) {
    writer.SetFact("sampler." + name, std::to_string(counter.count));
  }
}

}  // namespace reprise
