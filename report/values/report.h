// The results of a run, as plain values: computed once (report/analysis.h), then written to the
// console (report/text/short_text.h, report/sections/sections.h), the page or as JSON.
// docs/definitions.md defines the measures, docs/run_format.md the JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/value_counts.h"
#include "report/run/run.h"
#include "report/values/class_values.h"
#include "report/values/energy_values.h"
#include "report/values/fidelity_values.h"
#include "report/values/iteration_use.h"
#include "report/values/rank_values.h"
#include "report/values/thermal_values.h"
#include "report/values/transfer_values.h"
#include "report/values/verdict_values.h"

namespace reprise {

// What a run's ranks were recorded or replayed on. Empty: not known. Where ranks differ, their
// values are joined by ", ".
struct Machine {
  std::string processor;
  std::string device;   // "cpu", or the accelerator's name
  std::string threads;  // of one rank, that compute at a time
};

// The compute threads that a host's ranks run at a time, and the cores that these may use.
struct HostLoad {
  std::string host;
  std::int32_t ranks = 0, threads = 0, cores = 0;
};

// What `replay --check-values` counted: values that no training has, by operation.
struct ValueRow {
  std::string name;  // of the operation
  ValueCounts counts;
};

// Relative errors, replayed / recorded - 1.
struct Fidelity {
  std::optional<double> work_error;  // work and device nodes alone
  // The same against what they took without tracing, as the converter estimated; absent: unknown.
  std::optional<double> untraced_work_error;
  std::optional<double> step_error;      // shown, never claimed when oversubscribed
  std::optional<double> untraced_error;  // against the step without tracing
};

struct Report {
  Verdict verdict;
  RunManifest manifest;
  Machine recorded_on, replayed_on;
  bool on_recorded_machine = false;             // every rank, as far as both are known
  std::vector<HostLoad> host_loads;             // by name; empty in runs of earlier versions
  std::vector<std::int64_t> recorded_steps_ns;  // each recorded step's, of its longest rank
  Coverage coverage;
  CoverageBasis coverage_basis = CoverageBasis::kTime;
  Coverage coverage_of_bytes;        // beside `coverage` where that is of FLOPs
  double unknown_work = 0;           // share of operations and transfers: its work is unknown
  bool work_known = false;           // of some operation on some rank
  std::int64_t recorded_ns = 0;      // of what counts for coverage, added up
  std::int64_t work_tracing_ns = 0;  // what tracing took of the work that was measured, estimated
  // Factors for --stretch with which work would last as recorded without tracing; empty where the
  // run was stretched already, and where nothing was faster.
  std::vector<ClassFactor> stretches;
  std::optional<std::int64_t> step_time_recorded_ns, step_time_untraced_ns, step_time_replayed_ns;
  std::optional<std::int64_t> step_time_replayed_min_ns, step_time_replayed_max_ns;
  std::int32_t iterations = 0;                  // finished on every rank, without warm-up
  std::vector<std::int64_t> iteration_step_ns;  // their step times, in order
  ProcessorUse processor_use;                   // in the measured iterations
  std::int64_t host_ns = 0, wait_ns = 0, delay_ns = 0;
  Fidelity fidelity;
  FidelityDetails details;
  std::vector<ClassRow> classes;  // by recorded time, longest first
  std::vector<ClassRow> phases;   // likewise, of the phases that have any node
  std::vector<PhaseUse> phase_uses;
  std::vector<ShapeRow> shapes;  // of measured operations, by |difference|, then by time
  std::vector<ValueRow> values;  // empty where they were not checked
  std::vector<CollectiveRow> collectives;
  std::vector<RankRow> ranks;
  std::vector<DeviceLimitRow> device_limits;  // by name; none in runs that did not measure them
  std::optional<double> energy_joules;
  std::string energy_source;     // "rapl", "model (modelled)", "" where there is none
  double mean_watts = 0;         // of the same meters
  std::int64_t measured_ns = 0;  // time that energy and metrics cover
  std::vector<EnergyRow> energy;
  std::vector<MetricRow> metrics;
  std::optional<StepAmount> tokens, samples;  // `attribution`'s, where there is one
  std::optional<EnergyAttribution> attribution;
  ThermalDetails thermal;
  std::map<std::string, std::int64_t> diagnostics;  // counters of all ranks together
  std::vector<std::string> failed_commands;         // "rank 3: the command ended with exit code 7"
  std::vector<std::string> missing_sources;         // of telemetry; `notes` has why
  std::vector<std::string> notes;
};

}  // namespace reprise
