// The results of a run, as plain values: computed once, then written to the console, the page or as
// JSON.
// docs/definitions.md defines the measures, docs/run_format.md the JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "report/energy.h"
#include "report/fidelity.h"
#include "report/machines.h"
#include "report/phase_uses.h"
#include "report/throttling.h"
#include "report/values.h"
#include "report/verdict.h"
#include "run/run.h"

namespace reprise {

// What coverage is a share of. A set without durations has no recorded time.
enum class CoverageBasis : std::uint8_t { kTime, kFlops, kBytes, kNodes };
inline constexpr std::size_t kCoverageBases = 4;
[[nodiscard]] std::string_view Name(CoverageBasis basis);  // "time", "flops", "bytes", "nodes"

// Fractions of `amount`: the recorded ns (or FLOPs, bytes, number) of work, device nodes and
// transfers. The first four sum to 1; all are 0 if there is nothing to share.
struct Coverage {
  double real = 0, surrogate = 0, timed = 0, skipped = 0;
  double capped = 0;   // of the surrogates: those whose work was cut (docs/coverage.md)
  double unknown = 0;  // of the timed: those that were to run, but for their unknown work
  double amount = 0;
};

// Times of simulated nodes, by where they come from (TimeSource).
using SourceTimes = std::array<std::int64_t, kTimeSources>;

// One class of operations, or one phase of the step: one pass over the trace, all ranks.
struct ClassRow {
  std::string name;
  std::int64_t count = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t tracing_ns = 0;              // of recorded_ns: what tracing took, estimated
  std::optional<std::int64_t> replayed_ns;  // of an iteration, the median over iterations
  double flops = 0, bytes = 0;
  std::optional<double> gflop_per_s, gb_per_s;  // as replayed; none where nothing ran
  SourceTimes from_ns{};                        // of replayed_ns
};

// All calls of one operation with tensors of the same shapes: one pass over the trace, all ranks.
struct ShapeRow {
  std::string name, op_class;
  std::string shape;  // of its inputs, "[8,64] [64,64]"; empty: not recorded
  std::int64_t count = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t tracing_ns = 0;   // of recorded_ns: what tracing took, estimated
  std::int64_t replayed_ns = 0;  // of an iteration, the median over iterations
  SourceTimes from_ns{};         // of replayed_ns
};

struct ClassFactor {
  std::string name;
  double factor = 1;
};

// Which clock a transfer's last arrival was taken from.
enum class TransferClock : std::uint8_t {
  kShared,    // all members on one host
  kOffset,    // hosts' clocks related by readings (run/clocks.h)
  kShortest,  // unrelated or missing clocks: the shortest member's time, which the last to arrive
              // has
};
[[nodiscard]] std::string_view Name(TransferClock clock);

// All transfers of one kind, group and size.
struct CollectiveRow {
  std::string name;   // "all_reduce", "send", …
  std::string group;  // as in the trace set; the role of folded sets' groups, all of them together
  std::int32_t group_size = 1;
  std::int64_t bytes = 0;  // as algbw counts them
  std::int64_t count = 0;  // in one pass over the trace
  ReplayMode mode = ReplayMode::kReal;
  TransferClock clock = TransferClock::kShared;
  std::int64_t recorded_ns = 0;             // median
  std::optional<std::int64_t> replayed_ns;  // median from the last arrival to the last end
  // All of one pass over the trace; replayed: the mean of iterations.
  std::int64_t recorded_sum_ns = 0, replayed_sum_ns = 0;
  std::optional<double> algbw_gb_per_s, busbw_gb_per_s;  // none for nothing sent or not measured
};

struct EnergyRow {
  std::string host, device, metric, source;
  bool modelled = false;
  bool in_total = false;  // false where another row contains it
  double joules = 0, mean_watts = 0;
  std::vector<std::int32_t> ranks;  // that compute on the device; empty: the host's, or not known
  std::int64_t devices = 1;         // equal ones that the row stands for; the numbers are of one
};

// Any other metric over the measured time. Counters are rates per second.
struct MetricRow {
  std::string host, device, metric, unit, source;
  bool modelled = false, is_rate = false;
  double min = 0, mean = 0, max = 0;
  std::optional<std::int64_t> update_ns;  // median time between changes of its value
  std::vector<std::int32_t> ranks;        // as in EnergyRow
  std::int64_t devices = 1;               // likewise
};

struct RankRow {
  std::int32_t rank = 0;
  // For how many equal ranks it stands, and which: "0-7, 64-127:8". 1 and empty: itself.
  std::int64_t alike = 1;
  std::string members;
  std::string host, device;
  std::int64_t nodes = 0;
  std::int32_t iterations = 0;                     // finished, without warm-up
  Coverage coverage;                               // by Report::coverage_basis
  std::array<Coverage, kCoverageBases> coverages;  // by each
  std::int64_t recorded_ns = 0;                    // of what counts for coverage
  bool work_known = false;  // of some operation, from its arguments or counts
  std::optional<std::int64_t> step_time_recorded_ns, step_time_replayed_ns;
  // How well its times compare with rank 0's; none: not at all, except on one host.
  std::optional<std::int64_t> clock_uncertainty_ns;
  // Recorded time of host nodes, of waits, and of gaps on host threads.
  std::int64_t host_ns = 0, wait_ns = 0, delay_ns = 0;
  // Recorded time in which at least one node ran that is replayed as the real operation, in
  // `recorded_steps` steps.
  std::int64_t real_ns = 0;
  std::int64_t recorded_steps = 1;
};

// Rates of a device, measured before the run by one rank alone: a float32 GEMM and a copy.
struct DeviceLimitRow {
  std::string device;                    // as in RankRow
  std::vector<std::int32_t> ranks;       // that used a device of this name
  double gflop_per_s = 0, gb_per_s = 0;  // the best of them
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
  std::vector<HostLoad> host_loads;             // by name; empty in runs of earlier versions
  std::vector<std::int64_t> recorded_steps_ns;  // each recorded step's, of its longest rank
  Coverage coverage;
  CoverageBasis coverage_basis = CoverageBasis::kTime;
  Coverage coverage_of_bytes;    // beside `coverage` where that is of FLOPs
  double unknown_work = 0;       // share of what was to run: its work is unknown, so it is timed
  bool work_known = false;       // of some operation on some rank
  std::int64_t recorded_ns = 0;  // of what counts for coverage
  double coverage_of_step = 0;
  std::int64_t work_tracing_ns = 0;  // what tracing took of the work that was measured, estimated
  // Factors for --stretch with which work would last as recorded without tracing; empty where the
  // run was stretched already, and where nothing was faster.
  std::vector<ClassFactor> stretches;
  std::optional<std::int64_t> step_time_recorded_ns, step_time_untraced_ns, step_time_replayed_ns;
  std::optional<std::int64_t> step_time_replayed_min_ns, step_time_replayed_max_ns;
  std::int32_t iterations = 0;                  // finished on every rank, without warm-up
  std::vector<std::int64_t> iteration_step_ns;  // their step times, in order
  std::int64_t host_ns = 0, wait_ns = 0, delay_ns = 0;
  Fidelity fidelity;
  FidelityDetails details;
  std::vector<ClassRow> classes;  // by recorded time, longest first
  std::vector<ClassRow> phases;   // likewise, of the phases that have any node
  std::vector<PhaseUse> phase_uses;
  std::vector<ShapeRow> shapes;  // of measured operations, by |difference|
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

// Of a run in memory; report/analysis.h has what is too large for that.
[[nodiscard]] Report Analyze(const RunData& run);

// For people. Lines have at most 100 columns.
// The verdict, what it rests on and what changes its reading: at most 40 lines.
[[nodiscard]] std::string ShortText(const Report& report, bool colour);
// All sections.
[[nodiscard]] std::string FullText(const Report& report, bool colour);
// Usage: there is no such section.
[[nodiscard]] Status FindSection(const std::string& name);
// One section; says so where the run has nothing for it. Usage: there is no such section.
[[nodiscard]] Result<std::string> SectionText(const Report& report, const std::string& name,
                                              bool colour);
// In the order of FullText.
[[nodiscard]] std::vector<std::string> SectionNames();
// For programs: one JSON object.
[[nodiscard]] std::string JsonText(const Report& report);

}  // namespace reprise
