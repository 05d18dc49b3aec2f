// A run on disk: manifest.json + rank<N>.sqlite (+ run.sqlite once merged). docs/run_format.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/metrics.h"
#include "core/placement.h"
#include "core/records.h"
#include "core/result.h"

namespace reprise {

// Option "mode" of a run that recorded a program instead of replaying a trace.
inline constexpr char kMonitorMode[] = "monitor";

struct RunManifest {
  std::string format = "reprise-run-1";
  std::string reprise_version;
  std::string command;  // as typed
  std::string trace_path, trace_name, trace_hash;
  std::string started_at;  // ISO 8601 UTC
  std::int32_t world_size = 1;
  std::int32_t iterations = 1, warmup = 0;
  std::map<std::string, std::string> options;   // --mode, --ops, --host-gaps, …
  std::map<std::string, std::string> versions;  // MPI library, OpenCL platform, driver, kernel
  std::vector<std::string> hosts;               // by rank
  std::vector<std::string> devices;             // by rank: "opencl: <name>"
  bool oversubscribed = false;                  // more compute threads than cores on some host
  bool complete = false;                        // set by MergeRun
  std::int64_t untraced_step_ns = -1;
  std::int64_t recorded_step_ns = 0;  // longest rank
};

// The name of this host; "unknown" if it has none.
[[nodiscard]] std::string HostName();

// A compute device that a rank used, as stored in `devices` (kernels/ has a RunDevice of its own).
struct RunDevice {
  std::string device;   // id within the run: "opencl:0"; telemetry's metrics may name the same
  std::string backend;  // "opencl", "host"
  std::string name, vendor, driver;
  std::int32_t compute_units = 0;
  std::int64_t memory_bytes = 0;
  std::string uuid, pci_bus_id;  // spelt as MeteredDevice has them; empty if unknown
  DevicePlacement placement;
};

// Modelled energy of a node of a simulated run, over all of its time: what it takes beyond the
// device's idle power.
struct NodeJoules {
  std::uint64_t node_id = 0;
  double above_idle_joules = 0;
};

// Per rank, appends to rank<N>.sqlite from a background thread: callers never wait for the disk.
// Thread-safe. What was appended is on disk after at most 2 s; a killed run is readable
// to that point.
class RankWriter {
 public:
  // `directory` must exist; an earlier run's file of this rank in it is replaced (refusing to
  // overwrite is the command line's task). Rank 0 also writes the manifest (WriteManifest).
  static Result<std::unique_ptr<RankWriter>> Create(const std::string& directory, int rank);
  ~RankWriter();
  // Rows of any table of report/run/schema.def.
  template <typename Row>
  void Append(std::vector<Row> rows);
  // Named per-rank facts: how clocks relate (kFactClockReadings), diagnostics, memory peak.
  void SetFact(const std::string& name, const std::string& value);
  // The first error of the background thread so far; Append after it does nothing.
  [[nodiscard]] Status status();
  // Writes what is pending and closes the file. The first error of the background thread, such as
  // a full disk, is returned here; Append after it does nothing.
  [[nodiscard]] Status Close();

 private:
  class Impl;
  explicit RankWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Facts that readers interpret; any other name is shown as it is.
// This host's clock against rank 0's, and against Unix time, now and then (ReadingsText). One rank
// of each host has them.
inline constexpr char kFactClockReadings[] = "clock_readings";
inline constexpr char kFactWallReadings[] = "wall_readings";
// The window before the run in which nothing ran, for idle power, on the samples' clock. Ranks that
// sample have it.
inline constexpr char kFactIdleBeginNs[] = "idle_begin_ns";
inline constexpr char kFactIdleEndNs[] = "idle_end_ns";
// How the monitored command ended on this rank.
inline constexpr char kFactExitCode[] = "exit_code";
// CPU time that sampling took in this process.
inline constexpr char kFactSamplerCpuNs[] = "sampler_cpu_ns";
// Rates of this rank's device, measured before the run by one rank alone: a float32 GEMM, a copy.
inline constexpr char kFactDeviceFlopsPerSecond[] = "device_flops_per_second";
inline constexpr char kFactDeviceBytesPerSecond[] = "device_bytes_per_second";
// "true" where the times come from a simulated clock.
inline constexpr char kFactModelled[] = "modelled";
// Where a rank of the run stands for a class of equal ranks: how many there are, and which, as in
// "0-7, 64-127:8" (first-last:stride).
inline constexpr char kFactClassRanks[] = "class_ranks";
inline constexpr char kFactClassMembers[] = "class_members";
// This rank's recorded step.
inline constexpr char kFactRecordedStepNs[] = "recorded_step_ns";
// The time of each of them, in order: "454000000,762000000".
inline constexpr char kFactRecordedStepsNs[] = "recorded_steps_ns";
// What this rank computes on: the host's processor, "cpu" or the accelerator's name, how many
// threads at a time, and the numbers of the cores that they may use: "0,1".
inline constexpr char kFactProcessor[] = "processor";
inline constexpr char kFactComputesOn[] = "computes_on";
inline constexpr char kFactComputeThreads[] = "compute_threads";
inline constexpr char kFactCores[] = "cores";
// The NUMA nodes of those cores, and of the memory that the rank may use: "0-1,3". Absent where the
// kernel does not say.
inline constexpr char kFactNumaNodes[] = "numa_nodes";
inline constexpr char kFactMemoryNumaNodes[] = "memory_numa_nodes";
// Where this rank's first recorded step begins, in its recorded times.
inline constexpr char kFactFirstStepNs[] = "first_step_ns";
// Why the run ended early, as this rank received it (its first line), and when (Unix ns).
inline constexpr char kFactEndedBy[] = "ended_by";
inline constexpr char kFactEndedAtNs[] = "ended_at_ns";
// What one step of this rank works on, inferred from the trace, each with "<name>_from" saying how;
// and how many ranks work on that same batch together (docs/definitions.md, "Tokens and samples").
inline constexpr char kFactStepTokens[] = "step_tokens";
inline constexpr char kFactStepSamples[] = "step_samples";
inline constexpr char kFactStepBatchRanks[] = "step_batch_ranks";
// What the recorded job ran on (RecordedMachine); absent where its capture does not say.
inline constexpr char kFactRecordedProcessor[] = "recorded_processor";
inline constexpr char kFactRecordedDevice[] = "recorded_device";
inline constexpr char kFactRecordedFramework[] = "recorded_framework";
inline constexpr char kFactRecordedThreads[] = "recorded_threads";
inline constexpr char kFactRecordedCores[] = "recorded_cores";
// "values.aten::mm": what --check-values counted of this rank's calls of an operation: values,
// denormals, infinities and NaN, as in "524288 0 0 0".
inline constexpr char kFactValues[] = "values.";
// Why `replay` chose the device that it used, where the user named none.
inline constexpr char kFactDeviceReason[] = "device_reason";
// What 0 of this rank's recorded times is on the recording's common clock.
inline constexpr char kFactTraceBaseNs[] = "trace_base_ns";

// manifest.json, atomically: a reader sees the old or the new one, never half.
[[nodiscard]] Status WriteManifest(const std::string& directory, const RunManifest& manifest);
// A missing key keeps its default; a wrong type or text that is not JSON is bad input.
[[nodiscard]] Result<RunManifest> ReadManifest(const std::string& directory);
// After every rank closed its file: writes run.sqlite (summaries) and marks the manifest complete.
// One process does it, so a run of more than `most_ranks_in_full` ranks keeps nodes, edges,
// collectives and samples in the ranks' own files only: the merge takes milliseconds a rank then.
inline constexpr int kMaxRanksInFull = 256;
[[nodiscard]] Status MergeRun(const std::string& directory,
                              int most_ranks_in_full = kMaxRanksInFull);

// One rank's part of a run, in memory.
struct RankData {
  std::int32_t rank = 0;
  std::vector<NodeInfo> nodes;
  std::vector<EdgeInfo> edges;
  std::vector<CollectiveInfo> collectives;
  std::vector<NodeRecord> records;
  std::vector<NodeJoules> joules;  // of a simulated run on a machine with power
  std::vector<StepRecord> steps;
  std::vector<RunDevice> devices;
  std::vector<MeteredDevice> meters;
  std::vector<Metric> metrics;
  std::vector<Sample> samples;
  std::string host;     // as the rank's own file has it
  bool closed = false;  // false: the rank was killed or is still writing
  std::map<std::string, std::string> facts;
  // Set: records, steps and samples are on the clock of rank 0's host, to within this
  // (report/run/clocks.h brings them there). Else they are on their own host's.
  std::optional<std::int64_t> clock_uncertainty_ns;
};

struct RunData {
  RunManifest manifest;
  std::vector<RankData> ranks;     // by rank; ranks whose file is missing are absent
  std::vector<std::string> notes;  // "not merged: the run was killed", "rank 3: file missing"
};
// Takes merged, unmerged, killed and still growing runs, and says so in notes. Hosts' times are on
// one clock, where known (clock_uncertainty_ns). Where only run.sqlite has a rank, its records are
// that file's medians, one iteration of them. What memory can't hold is refused (environment).
[[nodiscard]] Result<RunData> ReadRun(const std::string& directory);

}  // namespace reprise
