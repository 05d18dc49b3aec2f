#include "replayer/run_directory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "core/output_kind.h"
#include "telemetry/process_placement.h"

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

void RecordMachine(const RecordedMachine& machine, RankWriter& writer) {
  const auto count = [](std::int32_t value) { return value > 0 ? std::to_string(value) : ""; };
  for (const auto& [fact, value] : {std::pair(kFactRecordedProcessor, machine.processor),
                                    std::pair(kFactRecordedDevice, machine.device),
                                    std::pair(kFactRecordedFramework, machine.framework),
                                    std::pair(kFactRecordedThreads, count(machine.threads)),
                                    std::pair(kFactRecordedCores, count(machine.cores))}) {
    if (!value.empty()) {
      writer.SetFact(fact, value);
    }
  }
}

void RecordProcessPlacement(const std::string& root, RankWriter& writer) {
  const ProcessPlacement nodes = ReadProcessPlacement(root);
  for (const auto& [fact, value] : {std::pair(kFactNumaNodes, nodes.numa_nodes),
                                    std::pair(kFactMemoryNumaNodes, nodes.memory_numa_nodes)}) {
    if (!value.empty()) {
      writer.SetFact(fact, value);
    }
  }
}

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string StepTimesText(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", step.duration_ns);
  }
  return text;
}

}  // namespace reprise
