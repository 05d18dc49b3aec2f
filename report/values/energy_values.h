// What meters read over the measured time, and who used a run's energy: by rank, device, step,
// phase, class of operations and transfer. The rules are docs/definitions.md's ("Energy"), the JSON
// is docs/run_format.md's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprise {

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
  bool modelled = false, rate = false;
  double min = 0, mean = 0, max = 0;
  std::optional<std::int64_t> update_ns;  // median time between changes of its value
  std::vector<std::int32_t> ranks;        // as in EnergyRow
  std::int64_t devices = 1;               // likewise
};

// The middle of an iteration's values, per step, and how far they lie apart.
struct Spread {
  double median = 0;
  double half_range = 0;
  double standard_error = 0;  // of the mean; 0 for one iteration
  std::int32_t iterations = 0;
};

// What some operations used over the measured time, beside whatever else ran.
struct EnergyUse {
  double joules = 0;
  std::optional<double> above_idle_joules;  // where every meter's idle power is known
  std::optional<Spread> step_joules;        // of one step
  std::int64_t active_ns = 0;               // of the operations, summed
  bool estimate = false;                    // too short for how often the meters update
};

// `name`: a rank's number, a phase, a class. A rank that stands for a class of equal ones (RankRow)
// has what all of them used.
struct EnergyUseRow {
  std::string name;
  EnergyUse use;
};

// All transfers of one kind, group (or role) and size, all ranks; as in CollectiveRow.
struct TransferEnergyRow {
  std::string name, group;
  std::int32_t group_size = 1;
  std::int64_t bytes = 0;
  EnergyUse use;
};

// A meter that counts in the total.
struct MeterEnergyRow {
  std::string host, device, metric, source;
  bool modelled = false;
  std::vector<std::int32_t> ranks;  // whose operations share it; empty: none, all is idle
  std::int64_t devices = 1;         // as EnergyRow::devices
  double joules = 0;
  double idle_joules = 0;  // while none of their operations ran
  // Joules beyond idle power over the measured time, and that power before the run.
  std::optional<double> idle_watts, above_idle_joules;
  // While it was not read: in `joules`, by interpolation, but in no share.
  std::int64_t gaps = 0, gap_ns = 0;
  double gap_joules = 0;
  std::optional<std::int64_t> update_ns;  // median time between changes of its value
  // Range of its power × that interval, at both ends: how far `joules` may be off for not knowing
  // what the meter had counted at its bounds. Nothing where the interval is not known.
  std::optional<double> boundary_joules;
};

// One step of one iteration: all meters, from the first rank's begin to the last one's end.
struct StepEnergyRow {
  std::int32_t iteration = 0, step = 0;
  double joules = 0;
};

struct HostEnergyRow {
  std::string host;
  double joules = 0, idle_joules = 0, gap_joules = 0;
};

// Tokens or samples of one step of all ranks, inferred from the trace.
struct StepAmount {
  double per_step = 0;
  std::optional<double> per_joule;
  std::string from;  // how it was found
};

struct EnergyAttribution {
  bool modelled = false;       // some meter is a model
  bool of_operations = false;  // of some meter, operations have what the model says of each
  double joules = 0;           // idle and gaps included
  double idle_joules = 0, gap_joules = 0;
  std::optional<double> idle_watts, above_idle_joules, boundary_joules;
  std::optional<Spread> step_joules;
  std::optional<StepAmount> tokens, samples;
  std::vector<MeterEnergyRow> meters;
  std::vector<HostEnergyRow> hosts;
  std::vector<StepEnergyRow> steps;          // by iteration and step
  std::vector<EnergyUseRow> phases;          // the phases that used any, most first
  std::vector<EnergyUseRow> classes;         // most first
  std::vector<EnergyUseRow> ranks;           // by rank
  std::vector<TransferEnergyRow> transfers;  // most first
  std::vector<std::string> notes;
};

}  // namespace reprise
