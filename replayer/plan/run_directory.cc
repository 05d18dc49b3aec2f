#include "replayer/plan/run_directory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <iterator>
#include <set>
#include <vector>

#include "core/output_kind.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/plan.h"
#include "report/run/schema.h"
#include "report/telemetry/process_placement.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Only a run's own files: --force must not delete others.
bool IsRunFile(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == kChecksumsFile || name.starts_with("manifest.json") ||
         name == kStoredAnalysisFile || name.starts_with("run.sqlite") ||
         (name.starts_with("rank") && name.find(".sqlite") != std::string::npos) ||
         RankOfColumns(name) || RankOfSums(name);
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

Provenance ProvenanceOf(const RunRequest& request) {
  std::error_code error;
  const bool anonymized = fs::exists(fs::path(request.set_directory) / kAnonymizedFile, error);
  return request.provenance.value_or(anonymized ? Provenance::kNone : Provenance::kFull);
}

int HostNumber(std::span<const std::int32_t> nodes, int rank) {
  const std::set<std::int32_t> first_ranks(nodes.begin(), nodes.end());
  const auto own = first_ranks.find(nodes[static_cast<std::size_t>(rank)]);
  return static_cast<int>(std::distance(first_ranks.begin(), own));
}

RankFacts TraceFacts(const Graph& graph, bool times) {
  const TraceMetadata& metadata = graph.metadata();
  const RecordedMachine& machine = metadata.machine;
  const auto known = [](std::int32_t count) {
    return count > 0 ? std::optional<std::int64_t>(count) : std::nullopt;
  };
  RankFacts facts{.recorded_processor = machine.processor,
                  .recorded_device = machine.device,
                  .recorded_framework = machine.framework,
                  .recorded_threads = known(machine.threads),
                  .recorded_cores = known(machine.cores),
                  .trace_base_ns = metadata.base_ns + metadata.clock_offset_ns};
  if (times) {
    facts.recorded_step_ns = RecordedStepNs(graph);
    for (const Step& step : metadata.steps) {
      facts.first_step_ns = facts.first_step_ns.value_or(step.start_ns);
      facts.recorded_steps_ns.push_back(step.duration_ns);
    }
  }
  return facts;
}

void RecordProcessPlacement(const std::string& root, RankWriter& writer) {
  const ProcessPlacement nodes = ReadProcessPlacement(root);
  writer.SetFacts({.numa_nodes = nodes.numa_nodes, .memory_numa_nodes = nodes.memory_numa_nodes});
}

void DescribeSampler(const Sampler& sampler, RankWriter& writer) {
  writer.Append(sampler.metrics());
  writer.Append(sampler.devices());
  writer.SetFacts({.missing_telemetry = sampler.unavailable()});
}

void SummarizeSampler(const Sampler& sampler, RankWriter& writer) {
  writer.SetFacts(
      {.sampler_cpu_ns = sampler.cpu_ns(), .sampler_counters = sampler.diagnostics().Counts()});
}

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace reprise
