#include "cli/runs/monitor_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/clock.h"
#include "core/log.h"
#include "core/version.h"
#include "replayer/plan/run_directory.h"
#include "report/run/schema.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Ranks of one program end together; a rank that takes longer has been left alone.
constexpr std::int64_t kMergeWaitNs = 10'000'000'000;

RunManifest MakeManifest(const MonitorTarget& target) {
  RunManifest manifest;
  manifest.reprise_version = kVersion;
  manifest.command = target.command_line;
  manifest.started_at = UtcNow();
  manifest.world_size = target.rank.world_size;
  manifest.options = {{"mode", kMonitorMode}};
  if (!target.command.empty()) {
    manifest.options["monitored"] = fmt::format("{}", fmt::join(target.command, " "));
  }
  if (!target.rank.launcher.empty()) {
    manifest.options["launcher"] = target.rank.launcher;
  }
  return manifest;
}

}  // namespace

Result<std::unique_ptr<MonitorRecording>> MonitorRecording::Begin(const MonitorTarget& target) {
  const std::int32_t rank = target.rank.rank;
  std::error_code error;
  const std::string file = RankPath(target.directory, rank);
  if (target.rank.world_size == 1) {
    REPRISE_TRY(PrepareRunDirectory(target.directory, target.force));
  } else if (fs::exists(file, error) && !target.force) {
    return UsageError(file + " exists; choose another -o or pass --force");
  }
  fs::create_directories(target.directory, error);
  if (error) {
    return EnvironmentError(fmt::format("cannot create {}: {}", target.directory, error.message()));
  }
  std::unique_ptr<MonitorRecording> recording(new MonitorRecording(target));
  REPRISE_ASSIGN(recording->writer_, RankWriter::Create(target.directory, rank));
  RecordProcessPlacement("", *recording->writer_);
  if (rank == 0) {
    REPRISE_TRY(WriteManifest(target.directory, MakeManifest(target)));
  }
  return recording;
}

void MonitorRecording::BeginStep() {
  begin_ns_ = MonotonicNs();
  ReadClock();
}

void MonitorRecording::ReadClock() {
  wall_readings_.push_back(ReadWallClock());
  writer_->SetFacts({.wall_readings = wall_readings_});
}

void MonitorRecording::Discard() {
  static_cast<void>(writer_->Close());
  std::error_code error;
  fs::remove(RankPath(target_.directory, target_.rank.rank), error);
  fs::remove(ColumnsPath(target_.directory, target_.rank.rank), error);
  if (target_.rank.rank == 0) {
    fs::remove(ManifestPath(target_.directory), error);
  }
  fs::remove(target_.directory, error);  // only if nothing else is in it
}

Status MonitorRecording::End(const Sampler* sampler, int exit_code) {
  ReadClock();
  if (sampler != nullptr) {
    SummarizeSampler(*sampler, *writer_);
  }
  writer_->Append<StepRecord>({{.start_ns = begin_ns_, .duration_ns = MonotonicNs() - begin_ns_}});
  if (!target_.command.empty()) {
    writer_->SetFacts({.exit_code = exit_code});
  }
  REPRISE_TRY(writer_->Close());
  return target_.rank.rank == 0 ? Merge() : Status{};
}

Status MonitorRecording::Merge() {
  const std::int64_t until_ns = MonotonicNs() + kMergeWaitNs;
  for (;;) {
    const auto run = ReadRun(target_.directory);
    if (run && std::ranges::all_of(run->ranks, [](const RankData& data) { return data.closed; }) &&
        static_cast<std::int32_t>(run->ranks.size()) == target_.rank.world_size) {
      return MergeRun(target_.directory);
    }
    if (MonotonicNs() > until_ns) {
      LogWarning(fmt::format("{}: not all {} ranks have ended; the run is readable but not merged",
                             target_.directory, target_.rank.world_size));
      return {};
    }
    WaitUntilNs(MonotonicNs() + 200'000'000, 0);
  }
}

}  // namespace reprise
