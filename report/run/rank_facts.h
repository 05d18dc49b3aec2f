// What a run keeps of a rank beside its tables: one struct in memory, rows (name, text) on disk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/host_clock.h"
#include "core/iteration_load.h"
#include "core/result.h"
#include "core/value_counts.h"

namespace reprise {

// Values that have names of their own, each name once.
template <typename T>
using Named = std::vector<std::pair<std::string, T>>;

// kRankFacts says what each member means. Absent, which is not zero: nothing in an optional, an
// empty text or list, and `modelled` where it is false.
struct RankFacts {
  std::string host, device, device_reason;
  std::optional<std::int64_t> estimate_ns;
  std::optional<std::int64_t> memory_planned_bytes, memory_original_peak_bytes;
  std::optional<std::int64_t> memory_allocated_bytes;
  std::optional<double> device_flops_per_second, device_bytes_per_second;
  std::optional<std::int64_t> device_clock_uncertainty_ns;
  std::string processor, computes_on;
  std::optional<std::int64_t> compute_threads;
  std::vector<std::int64_t> cores;
  std::string numa_nodes, memory_numa_nodes;

  std::string recorded_processor, recorded_device, recorded_framework;
  std::optional<std::int64_t> recorded_threads, recorded_cores;
  std::optional<std::int64_t> trace_base_ns, recorded_step_ns, first_step_ns;
  std::vector<std::int64_t> recorded_steps_ns;
  std::optional<std::int64_t> step_tokens, step_samples, step_batch_ranks;
  std::string step_tokens_from, step_samples_from;

  bool modelled = false;
  std::optional<std::int64_t> class_ranks;
  std::string class_members;

  std::vector<ClockReading> clock_readings, wall_readings;
  std::optional<std::int64_t> idle_begin_ns, idle_end_ns;
  std::string steady;
  std::optional<std::int64_t> sampler_cpu_ns;
  std::vector<IterationLoad> iteration_loads;
  std::optional<std::int64_t> checked_transfers, exit_code;
  std::string ended_by;
  std::optional<std::int64_t> ended_at_ns;

  Named<ValueCounts> values;
  Named<std::string> missing_telemetry;
  Named<std::uint64_t> plan_counters, trace_counters, sampler_counters;

  // Rows with a name that is not in kRankFacts, as they are: another version's.
  Named<std::string> others;
};

using RankFactMember =
    std::variant<bool RankFacts::*, std::string RankFacts::*,
                 std::optional<std::int64_t> RankFacts::*, std::optional<double> RankFacts::*,
                 std::vector<std::int64_t> RankFacts::*, std::vector<ClockReading> RankFacts::*,
                 std::vector<IterationLoad> RankFacts::*, Named<ValueCounts> RankFacts::*,
                 Named<std::string> RankFacts::*, Named<std::uint64_t> RankFacts::*>;

struct RankFactRow {
  std::string_view name;  // in files; where it ends in ".", the entry's own name follows
  RankFactMember member;
  std::string_view meaning;  // the cell of docs/run_format.md
};

// Each fact once. Writing, reading and the page follow from it; a member that is not here does not
// compile.
inline constexpr auto kRankFacts = std::to_array<RankFactRow>({
    {"host", &RankFacts::host, "host of the rank"},
    {"device", &RankFacts::device, "backend and name of its device"},
    {"device_reason", &RankFacts::device_reason,
     "why `replay` chose this device, if none was named"},
    {"estimate_ns", &RankFacts::estimate_ns,
     "estimated time of one pass's operations, before the run"},
    {"memory_planned_bytes", &RankFacts::memory_planned_bytes,
     "memory that the replay planned for tensors"},
    {"memory_original_peak_bytes", &RankFacts::memory_original_peak_bytes,
     "largest memory of the recorded job's tensors at a time"},
    {"memory_allocated_bytes", &RankFacts::memory_allocated_bytes,
     "memory that the replay allocated on its device"},
    {"device_flops_per_second", &RankFacts::device_flops_per_second,
     "rate of a float32 matrix product, measured before the run by one rank alone"},
    {"device_bytes_per_second", &RankFacts::device_bytes_per_second,
     "rate of a copy, measured likewise"},
    {"device_clock_uncertainty_ns", &RankFacts::device_clock_uncertainty_ns,
     "bound of the error of the device's times"},
    {"processor", &RankFacts::processor, "processor of the host"},
    {"computes_on", &RankFacts::computes_on, "`cpu`, or the accelerator's name"},
    {"compute_threads", &RankFacts::compute_threads, "threads that compute at a time"},
    {"cores", &RankFacts::cores, "numbers of the cores that they may use, `0,1`"},
    {"numa_nodes", &RankFacts::numa_nodes,
     "NUMA nodes of those cores, `0-1,3`; absent where the kernel does not say"},
    {"memory_numa_nodes", &RankFacts::memory_numa_nodes,
     "NUMA nodes of the memory that the rank may use, likewise"},
    {"recorded_processor", &RankFacts::recorded_processor,
     "processor of the recorded rank; this and the next four are absent where the capture does not "
     "say"},
    {"recorded_device", &RankFacts::recorded_device, "its accelerator"},
    {"recorded_framework", &RankFacts::recorded_framework, "its PyTorch"},
    {"recorded_threads", &RankFacts::recorded_threads, "its compute threads"},
    {"recorded_cores", &RankFacts::recorded_cores, "its cores"},
    {"trace_base_ns", &RankFacts::trace_base_ns,
     "time 0 of the rank's recorded times on the recording's common clock"},
    {"recorded_step_ns", &RankFacts::recorded_step_ns, "length of the recorded step"},
    {"first_step_ns", &RankFacts::first_step_ns,
     "begin of the first recorded step, in recorded times"},
    {"recorded_steps_ns", &RankFacts::recorded_steps_ns,
     "length of each recorded step, `454000000,762000000`"},
    {"step_tokens", &RankFacts::step_tokens,
     "[tokens](definitions.md#tokens-and-samples) of a step"},
    {"step_samples", &RankFacts::step_samples,
     "[samples](definitions.md#tokens-and-samples) of a step"},
    {"step_batch_ranks", &RankFacts::step_batch_ranks, "ranks that share them"},
    {"step_tokens_from", &RankFacts::step_tokens_from, "how the tokens were inferred"},
    {"step_samples_from", &RankFacts::step_samples_from, "how the samples were inferred"},
    {"modelled", &RankFacts::modelled, "`true`: simulated times"},
    {"class_ranks", &RankFacts::class_ranks,
     "of a simulated folded set, in which each rank of the run stands for a class of equal ranks: "
     "how many"},
    {"class_members", &RankFacts::class_members,
     "which they are, `0-7, 64-127:8` (first-last:stride)"},
    {"clock_readings", &RankFacts::clock_readings,
     "`at offset uncertainty; …` in ns, on one rank of a host: this host's clock minus rank 0's, "
     "and the bound of its error"},
    {"wall_readings", &RankFacts::wall_readings, "the same against Unix time"},
    {"idle_begin_ns", &RankFacts::idle_begin_ns,
     "begin of the time in which nothing ran, for idle power; on ranks that sample"},
    {"idle_end_ns", &RankFacts::idle_end_ns, "end of it"},
    {"steady", &RankFacts::steady, "whether temperatures were steady (`--until-steady`)"},
    {"sampler_cpu_ns", &RankFacts::sampler_cpu_ns, "CPU time of the sampler in this process"},
    {"iteration_loads", &RankFacts::iteration_loads,
     "`iteration wall own busy stolen pressure switches load; …`, times in ns, warm-up counted: "
     "CPU "
     "time of the rank's process (0 where another rank of the process has it), of all programs on "
     "its cores, and what the hypervisor took of them; time in which some task of the host waited "
     "for a core; involuntary context switches; 100 times the load average. -1: unknown"},
    {"checked_transfers", &RankFacts::checked_transfers,
     "transfers whose data was verified (`--check`)"},
    {"exit_code", &RankFacts::exit_code, "exit code of the monitored command"},
    {"ended_by", &RankFacts::ended_by, "why the run ended early, as this rank received it"},
    {"ended_at_ns", &RankFacts::ended_at_ns, "when, in Unix time"},
    {"values.", &RankFacts::values,
     "with `--check-values`, by operation: values that its calls read and wrote in one iteration, "
     "denormals, infinities and NaN among them, `524288 0 0 0` ([values](values.md))"},
    {"telemetry.", &RankFacts::missing_telemetry, "by source: why it is not used"},
    {"diagnostic.", &RankFacts::plan_counters, "counters of the plan"},
    {"trace.", &RankFacts::trace_counters, "counters of the converter"},
    {"sampler.", &RankFacts::sampler_counters,
     "counters of the sampler: `late_tick`, `missed_tick`, `failed_reading`, `slow_reading`"},
});

// A row of the table `facts` (report/run/schema.def).
struct RunFact {
  std::string name, value;
};

// What is present, in the order of kRankFacts, then the others.
[[nodiscard]] std::vector<RunFact> FactRows(const RankFacts& facts);
// The other way round, row by row; a name that is not in kRankFacts goes to `others`. Bad input,
// without rank and file: the value is none of the member's type.
[[nodiscard]] Status AddFact(const RunFact& row, RankFacts& facts);

}  // namespace reprise
