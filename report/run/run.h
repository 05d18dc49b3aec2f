// A run on disk: manifest.json + rank<N>.sqlite (+ run.sqlite once merged). docs/run_format.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/metrics.h"
#include "core/placement.h"
#include "core/records.h"
#include "core/result.h"
#include "report/run/provenance.h"
#include "report/run/rank_facts.h"

namespace reprise {

// Option "mode": what a run is of.
inline constexpr char kReplayMode[] = "replay";      // a replayed trace set
inline constexpr char kSimulateMode[] = "simulate";  // a simulated one: every time is modelled
inline constexpr char kMonitorMode[] = "monitor";    // a program that ran beside it
inline constexpr char kRecordedMode[] = "recorded";  // a trace set itself (never on disk)

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
  std::string provenance = "full";              // a name of Provenance
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
  static Result<std::unique_ptr<RankWriter>> Create(const std::string& directory, int rank,
                                                    RankProvenance provenance = {});
  ~RankWriter();
  // Rows of any table of report/run/schema.def.
  template <typename Row>
  void Append(std::vector<Row> rows);
  // What is present of them; a later value of a fact replaces an earlier one.
  void SetFacts(const RankFacts& facts);
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

// manifest.json, atomically: a reader sees the old or the new one, never half. Without what
// `manifest.provenance` leaves out.
[[nodiscard]] Status WriteManifest(const std::string& directory, const RunManifest& manifest);
// A missing key keeps its default; a wrong type or text that is not JSON is bad input.
[[nodiscard]] Result<RunManifest> ReadManifest(const std::string& directory);
// After every rank closed its file: writes run.sqlite (summaries) and marks the manifest complete.
// One process does it, so a run of more than `most_ranks_in_full` ranks or with kLargeRunBytes
// keeps nodes, edges, collectives and samples in the ranks' own files only: milliseconds a rank
// then.
inline constexpr int kMaxRanksInFull = 256;
[[nodiscard]] Status MergeRun(const std::string& directory,
                              int most_ranks_in_full = kMaxRanksInFull);

// What a trace set has of a node besides. No file of a run keeps it.
struct NodeOrigin {
  std::string caller;  // the innermost composite around its call; empty: none, or not recorded
  std::string module;  // "Model_0/Layer_3/Linear_12": the ranges around a call on a thread
  std::string op;      // of a device's node: the operator whose kernel it is; likewise
  DType dtype = DType::kUnknown;  // that it computes with
  std::int64_t call_id = -1;      // that the pieces of one call on a thread have; -1: none
};

// Weights that products read: those that an optimizer changes in the trace, and the others.
struct WeightCounts {
  std::int64_t trained = 0, trained_bytes = 0;
  std::int64_t frozen = 0, frozen_bytes = 0;
};

// One rank's part of a run, in memory.
struct RankData {
  std::int32_t rank = 0;
  std::vector<NodeInfo> nodes;
  // Of a trace set alone. `origins`: parallel to nodes.
  std::vector<NodeOrigin> origins;
  WeightCounts weights;
  std::optional<RankPlacement> placement;
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
  RankFacts facts;
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
