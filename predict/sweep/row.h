// A row of a sweep: a job of it and what it would take, in numbers. docs/simulation.md has the keys
// of its JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/machine/machine.h"
#include "predict/prediction.h"
#include "predict/search/estimate.h"
#include "predict/sweep/sweep.h"

namespace reprise {

struct SweepRow {
  // Of the sweep's job.
  std::size_t place = 0;               // in the sweep
  std::vector<std::string> values;     // by key
  std::string model, layout, setting;  // empty: the sweep does not vary it

  bool possible = false;
  std::string reason;  // why it cannot be

  // Of a job that can be described; nothing in a row: not known.
  std::optional<std::int64_t> ranks, tp, pp, dp, ep, cp, global_batch, micro_batch, micro_batches;

  // Of a job that is possible: as Prediction has them.
  std::optional<std::int64_t> tokens, samples;
  std::optional<double> tokens_per_joule;
  std::optional<double> mean_watts, peak_watts;
  std::optional<double> throttled_share, throttled_by_power_share, throttled_by_heat_share;
  std::optional<double> mean_celsius, max_celsius, front_celsius, rear_celsius, rear_over_front;
  std::optional<std::int64_t> step_time_ns, classes;
  std::string machine;
  std::optional<double> energy_joules, nodes_joules;
  std::optional<std::int64_t> exposed_communication_ns, bubble_ns;
  std::optional<double> hfu, mfu, tokens_per_second, samples_per_second;
  std::optional<std::int64_t> device_time_ns, linked_device_time_ns;
  std::optional<double> unknown_share, default_share;
  std::string without_rate;
  // false: what does not fit by an estimate of its memory (predict/search/estimate.h), and has no
  // times.
  std::optional<bool> simulated;
  std::optional<bool> fits;
  std::optional<std::int64_t> peak_bytes, of_bytes;

  // By RankRows. Nothing: it does not fit.
  std::optional<std::int64_t> rank;
  bool pareto = false;

  [[nodiscard]] bool Fits() const { return possible && fits.value_or(false); }
  // Of a device's memory what is left; negative: what is lacking.
  [[nodiscard]] std::optional<std::int64_t> LeftBytes() const {
    return peak_bytes && of_bytes ? std::optional(*of_bytes - *peak_bytes) : std::nullopt;
  }
};

void DescribeJob(const Workload& workload, SweepRow& row);
// The row is possible then.
void TakePrediction(const Prediction& prediction, SweepRow& row);

// The row is possible then, and does not fit.
void TakeEstimate(const JobEstimate& estimate, const MachineModel& machine, SweepRow& row);

[[nodiscard]] nlohmann::ordered_json RowJson(const std::vector<SweepKey>& keys,
                                             const SweepRow& row);
// What RowJson wrote. Bad input: a member is missing, or of another type; `origin` begins messages.
[[nodiscard]] Result<SweepRow> ParseRow(const std::vector<SweepKey>& keys,
                                        const nlohmann::ordered_json& json,
                                        const std::string& origin);

}  // namespace reprise
