#include "replayer/plan/run_directory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/output_kind.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/plan.h"
#include "report/telemetry/process_placement.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Only a run's own files: --force must not delete others.
bool IsRunFile(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == kChecksumsFile || name.starts_with("manifest.json") ||
         name.starts_with("run.sqlite") ||
         (name.starts_with("rank") && name.find(".sqlite") != std::string::npos);
}

void SetKnown(const std::vector<std::pair<const char*, std::string>>& facts, RankWriter& writer) {
  for (const auto& [fact, value] : facts) {
    if (!value.empty()) {
      writer.SetFact(fact, value);
    }
  }
}

}  // namespace

Status PrepareRunDirectory(const std::string& directory, bool force) {
  REPRISE_TRY(CheckReplaceable(directory, OutputKind::kRun, force));
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (IsRunFile(it->path())) {
      fs::remove(it->path(), error);
    }
  }
  fs::create_directories(directory, error);
  if (error) {
    return EnvironmentError(fmt::format("cannot create {}: {}", directory, error.message()));
  }
  return {};
}

void RecordTrace(const Graph& graph, bool times, RankWriter& writer) {
  const TraceMetadata& metadata = graph.metadata();
  const RecordedMachine& machine = metadata.machine;
  const auto count = [](std::int32_t value) { return value > 0 ? std::to_string(value) : ""; };
  SetKnown({{kFactRecordedProcessor, machine.processor},
            {kFactRecordedDevice, machine.device},
            {kFactRecordedFramework, machine.framework},
            {kFactRecordedThreads, count(machine.threads)},
            {kFactRecordedCores, count(machine.cores)}},
           writer);
  writer.SetFact(kFactTraceBaseNs, std::to_string(metadata.base_ns + metadata.clock_offset_ns));
  if (!times) {
    return;
  }
  writer.SetFact(kFactRecordedStepNs, std::to_string(RecordedStepNs(graph)));
  if (const std::vector<Step>& steps = metadata.steps; !steps.empty()) {
    std::vector<std::int64_t> durations_ns(steps.size());
    std::transform(steps.begin(), steps.end(), durations_ns.begin(),
                   [](const Step& step) { return step.duration_ns; });
    writer.SetFact(kFactFirstStepNs, std::to_string(steps.front().start_ns));
    writer.SetFact(kFactRecordedStepsNs, fmt::format("{}", fmt::join(durations_ns, ",")));
  }
}

void RecordProcessPlacement(const std::string& root, RankWriter& writer) {
  const ProcessPlacement nodes = ReadProcessPlacement(root);
  SetKnown({{kFactNumaNodes, nodes.numa_nodes}, {kFactMemoryNumaNodes, nodes.memory_numa_nodes}},
           writer);
}

void DescribeSampler(const Sampler& sampler, RankWriter& writer) {
  writer.Append(sampler.metrics());
  writer.Append(sampler.devices());
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

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace reprise
