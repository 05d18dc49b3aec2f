// Session's recording half: the run directory, what is written into it, the manifest.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/clock.h"
#include "core/log.h"
#include "core/parallel.h"
#include "core/processor_name.h"
#include "core/text.h"
#include "core/version.h"
#include "replayer/engine/step_batch.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/run_directory.h"
#include "replayer/plan/training_phases.h"
#include "replayer/session.h"
#include "replayer/shared_set.h"
#include "report/telemetry/process_placement.h"

namespace reprise {
namespace {

std::string KernelRelease() {
  utsname name{};
  return uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "unknown";
}

RankFacts FactsOf(const StepBatch& batch, const RankGroups& groups) {
  RankFacts facts{.step_tokens = batch.tokens, .step_samples = batch.samples};
  if (batch.tokens) {
    facts.step_tokens_from = "inferred: " + batch.tokens_from;
  }
  if (batch.samples) {
    facts.step_samples_from = "inferred: " + batch.samples_from;
  }
  if (const auto group = groups.find(batch.shared_by); group != groups.end()) {
    facts.step_batch_ranks = group->second.ranks.size();
  }
  return facts;
}

}  // namespace

Status Session::CreateRunDirectory() {
  return communicator_.rank() == 0 ? PrepareRunDirectory(request_.run_directory, request_.force)
                                   : Status{};
}

Status Session::BeginRecording() {
  REPRISE_ASSIGN(writer_, RankWriter::Create(
                              request_.run_directory, communicator_.rank(),
                              {.provenance = ProvenanceOf(request_),
                               .host = HostNumber(communicator_.nodes(), communicator_.rank())}));
  writer_->Append(DescribeNodes(*graph_, plan_, std::mem_fn(&Kernel::name)));
  writer_->Append(DescribeEdges(*graph_));
  std::vector<CollectiveInfo> collectives;
  for (const PlannedTransfer& transfer : transfers_) {
    const auto group = groups_.find(transfer.spec.group);
    const auto size = group == groups_.end() ? 1 : group->second.ranks.size();
    collectives.push_back({transfer.node_id, transfer.spec, static_cast<std::int32_t>(size)});
  }
  writer_->Append(std::move(collectives));
  writer_->SetFacts({.host = communicator_.host(),
                     .device_reason = request_.device_reason,
                     .estimate_ns = estimate_.compute_ns,
                     .memory_planned_bytes = memory_plan_.planned_bytes,
                     .memory_original_peak_bytes = memory_plan_.original_peak_bytes,
                     .plan_counters = plan_.diagnostics.Counts(),
                     .trace_counters = graph_->metadata().diagnostics});
  if (device_ != nullptr) {
    const DeviceInfo& info = device_->info();
    writer_->Append<RunDevice>(
        {{fmt::format("{}:{}", info.backend, device_index_), info.backend, info.name, info.vendor,
          info.driver, info.compute_units, info.memory_bytes, info.uuid, info.pci_bus_id,
          ReadDevicePlacement(request_.options.sampling.sources, info.pci_bus_id)}});
    writer_->SetFacts({.device = fmt::format("{}: {}", info.backend, info.name),
                       .memory_allocated_bytes = memory_->allocated_bytes(),
                       .device_flops_per_second = limits_.flops_per_second,
                       .device_bytes_per_second = limits_.bytes_per_second,
                       .device_clock_uncertainty_ns = device_->clock_uncertainty_ns()});
  }
  RecordReplayingMachine();
  writer_->SetFacts(TraceFacts(*graph_, /*times=*/true));
  writer_->SetFacts(FactsOf(FindStepBatch(*graph_, FindPhases(*graph_)), groups_));
  StartSampler();
  return {};
}

void Session::RecordFailure(const Error& why) {
  if (writer_ != nullptr && !failure_recorded_.exchange(true)) {
    writer_->SetFacts(
        {.ended_by = why.message.substr(0, why.message.find('\n')), .ended_at_ns = WallClockNs()});
  }
}

Status Session::EndRecording() {
  StopSampler();
  if (writer_ == nullptr) {
    return {};
  }
  if (engine_ != nullptr && request_.options.check) {
    writer_->SetFacts({.checked_transfers = engine_->checked_transfers()});
  }
  writer_->SetFacts({.iteration_loads = loads_});
  return writer_->Close();
}

// A CPU device's workers (the host thread waits for them, so it does not count beside them), else
// the host thread. The communication thread mostly waits.
int Session::ComputeThreads() const {
  const bool cpu_device = device_ != nullptr && device_->info().is_cpu;
  return cpu_device ? std::max(device_->info().compute_units, 1) : 1;
}

void Session::RecordReplayingMachine() {
  const std::vector<int> cores = OwnCoreNumbers();
  writer_->SetFacts({.processor = ProcessorName(),
                     .computes_on = device_ == nullptr       ? ""
                                    : device_->info().is_cpu ? "cpu"
                                                             : device_->info().name,
                     .compute_threads = ComputeThreads(),
                     .cores = {cores.begin(), cores.end()}});
  RecordProcessPlacement(request_.options.sampling.sources.root, *writer_);
}

Result<RunManifest> Session::MakeManifest() {
  const ReplayOptions& options = request_.options;
  RunManifest manifest;
  // One line per rank: host, compute threads, recorded and untraced step, device, cores.
  const std::string device =
      device_ == nullptr ? "none"
                         : fmt::format("{}{}: {}", device_->info().backend,
                                       devices_ > 1 ? fmt::format(":{}", device_index_) : "",
                                       device_->info().name);
  REPRISE_ASSIGN(
      const auto rows,
      communicator_.AllGather(fmt::format(
          "{}\t{}\t{}\t{}\t{}\t{}", communicator_.host(), ComputeThreads(), RecordedStepNs(*graph_),
          graph_->metadata().untraced_step_ns, device, fmt::join(OwnCoreNumbers(), ","))));
  std::map<std::string, int> threads_of_host;
  std::map<std::string, std::set<std::string_view>> cores_of_host;
  for (const std::string& row : rows) {
    const std::vector<std::string_view> fields = SplitText(row, '\t');
    const auto number = [&fields](std::size_t field) {
      return std::stoll(std::string(fields.at(field)));
    };
    const std::string& host = manifest.hosts.emplace_back(fields.at(0));
    threads_of_host[host] += static_cast<int>(number(1));
    const std::vector<std::string_view> cores = SplitText(fields.at(5), ',');
    cores_of_host[host].insert(cores.begin(), cores.end());
    manifest.recorded_step_ns = std::max<std::int64_t>(manifest.recorded_step_ns, number(2));
    manifest.untraced_step_ns = std::max<std::int64_t>(manifest.untraced_step_ns, number(3));
    manifest.devices.emplace_back(fields.at(4));
  }
  for (const auto& [host, threads] : threads_of_host) {
    manifest.oversubscribed =
        manifest.oversubscribed || threads > static_cast<int>(cores_of_host[host].size());
  }
  manifest.reprise_version = kVersion;
  manifest.command = request_.command_line;
  manifest.trace_path = request_.set_directory;
  manifest.trace_name = set_.name;
  manifest.started_at = UtcNow();
  manifest.provenance = Name(ProvenanceOf(request_));
  manifest.world_size = communicator_.size();
  manifest.iterations = options.iterations;
  manifest.warmup = options.warmup;
  manifest.options = {{"mode", kReplayMode},
                      {"check", options.check ? "true" : "false"},
                      {"flush_denormals", options.flush_denormals ? "true" : "false"},
                      {"memory", options.share_memory ? "share" : "own"}};
  manifest.options.merge(DescribePart(options, mapping_));
  manifest.options.merge(DescribeModes(options));
  manifest.options.merge(DescribeTimes(options));
  if (!options.algorithms.empty()) {
    manifest.options["algo"] = options.algorithms.Describe();
  }
  manifest.versions = {{"kernel", KernelRelease()},
                       {"transport", std::string(communicator_.transport())}};
  if (links_.library != nullptr) {
    manifest.versions["device_transfers"] = links_.library->description();
  }
  if (device_ != nullptr) {
    manifest.versions["device_platform"] = device_->info().platform;
    manifest.versions["device_driver"] = device_->info().driver;
    manifest.versions["device_version"] = device_->info().version;
    manifest.versions["device_kernels"] = device_->info().kernels;
  }
  return manifest;
}

Status Session::WritePreliminaryManifest() {
  REPRISE_ASSIGN(manifest_, MakeManifest());
  REPRISE_ASSIGN(manifest_.trace_hash, HashTogether(communicator_, set_));
  if (communicator_.rank() != 0) {
    return {};
  }
  return WriteManifest(request_.run_directory, manifest_);
}

Status Session::WriteSummary() {
  if (communicator_.rank() != 0) {
    return {};
  }
  REPRISE_TRY(WriteManifest(request_.run_directory, manifest_));
  return MergeRun(request_.run_directory);
}

}  // namespace reprise
