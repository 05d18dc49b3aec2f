// What a simulation predicts of a step: plain values. docs/simulation.md explains each;
// predict/prediction_json.h and prediction_text.h show them. Every time, energy and temperature is
// modelled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/operators.h"
#include "predict/machine/machine.h"
#include "predict/simulator/power/thermal.h"
#include "predict/transform/graph_edit.h"
#include "predict/workload/description.h"
#include "predict/workload/job/facts.h"

namespace reprise {

// A share as a run's options have it: "0.4213".
[[nodiscard]] std::string ShareOption(double share);

// A device has less memory than its data sheet says, and what frameworks take is an estimate. A job
// that leaves less than this share of it may not fit.
inline constexpr double kSmallMargin = 0.05;

// The peak of a device. Of a job: of the rank that has the most.
struct MemoryPrediction {
  std::int64_t peak_bytes = 0;
  std::optional<std::int64_t> of_bytes;  // the device's; nothing: the machine is not described

  // Of a job, or a generated set: what takes the memory, by class of ranks.
  std::optional<std::int64_t> micro_batch, largest_micro_batch;
  std::vector<ClassMemory> classes;
  // Of a captured set: the rank of the peak. Only what its operations name is counted.
  std::optional<std::size_t> rank;

  [[nodiscard]] std::optional<bool> fits() const {
    return of_bytes ? std::optional(peak_bytes <= *of_bytes) : std::nullopt;
  }
};

// Means over all devices, unless a line says otherwise. Shares are of the step's time.
struct DeviceSummary {
  double mean_watts = 0;
  double peak_watts = 0;  // the highest of any
  double throttled_share = 0, throttled_by_power_share = 0, throttled_by_heat_share = 0;
  std::optional<double> mean_celsius;
  std::optional<double> max_celsius;  // the highest of any
  // Of the first row of devices in a node's air, and of those behind it; the largest excess of a
  // rear device over the one in front of it, in degrees Celsius (0.1: 10 %). Only until steady.
  std::optional<double> front_celsius, rear_celsius, rear_over_front;
};

struct PowerPrediction {
  struct OfClass {
    OpClass op_class = OpClass::kOther;
    double above_idle_joules = 0, mean_watts = 0;
  };
  // One device of each class of ranks.
  struct OfDevice {
    std::int64_t first_rank = 0, ranks = 0;
    double joules = 0, mean_watts = 0, peak_watts = 0;
    std::int64_t peak_at_ns = 0, peak_ns = 0;  // from the window's begin; how long
    std::vector<std::string> peak_operations;
    std::int64_t throttled_ns = 0, throttled_by_power_ns = 0, throttled_by_heat_ns = 0;
    std::optional<double> air_celsius, mean_celsius, max_celsius;
    // Of a job that may be extended (predict/extended_job.h), with temperatures: watts over time.
    std::vector<PowerStretch> stretches;
  };
  // One node of those that take the same.
  struct OfNode {
    std::string nodes;                  // "0-3, 8"
    double joules = 0, mean_watts = 0;  // of its devices
    // With what the node takes besides; nothing: the machine does not say it.
    std::optional<double> total_joules, total_watts;
  };
  // Of one step and all devices; watts over all its steps.
  double joules = 0, idle_joules = 0, mean_watts = 0;
  // Likewise of all nodes: devices and what is around them. Nothing: the machine does not say it.
  std::optional<double> nodes_joules, nodes_watts;
  double limit_watts = 0;
  std::optional<std::int64_t> limit_window_ns;  // nothing: the limit holds at every moment
  bool until_steady = false;
  int rounds = 0;
  bool settled = true, limit_met = true, heat_met = true;
  std::vector<OfClass> classes;
  std::vector<OfDevice> devices;
  std::vector<OfNode> nodes;
  DeviceSummary summary;
};

// The software stack that was put into the machine.
struct StackPrediction {
  std::string name, about;
  std::string changes;  // of the device's numbers, in words; empty: none
  std::string model;    // KindOfModel
  // Mean error of published steps of this stack and kind on the device; nothing: none are known.
  std::optional<double> error;
  std::string error_of;
};

// The set as rules change it beside the set as it is.
struct WhatIf {
  std::int64_t step_time_without_ns = 0;
  std::vector<RuleEffect> rules;
};

struct Prediction {
  std::optional<WhatIf> what_if;
  std::optional<Workload> job;                   // nothing: of a set
  std::vector<std::string> notes;                // which part of a set was simulated
  std::vector<std::string> warnings;             // what must be said first, as the report says it
  std::map<std::string, std::string> described;  // a run's options (docs/run_format.md): what the
                                                 // warnings are made of
  std::int64_t step_time_ns = 0;                 // of the longest rank, mean of the steps
  std::optional<std::int64_t> step_time_recorded_ns;  // nothing: no times were recorded
  std::int64_t ranks = 0;
  std::int64_t classes = 0;  // of equal ranks, that were simulated
  std::string machine;
  std::optional<std::string> captured_on;
  std::optional<Calibration> calibrated_on;
  std::optional<StackPrediction> stack;  // nothing: of a set that names none
  std::optional<double> energy_joules;   // of one step, all devices; nothing: no power numbers
  std::optional<MemoryPrediction> memory;
  // Means over ranks: only transfers, once the last member has come; nothing, or waiting.
  std::int64_t exposed_communication_ns = 0, bubble_ns = 0;
  // Their sums over ranks and steps, which are whole numbers.
  double exposed_sum_ns = 0, bubble_sum_ns = 0;
  // By class of ranks, of a job that may be extended: hashes of how long before the step's end its
  // last 1, 2, 4, … operations start. Equal with other micro-batches: the schedule is periodic.
  std::vector<std::vector<std::uint64_t>> last_starts;
  std::optional<double> mfu, hfu;
  std::int64_t tokens = 0, samples = 0;  // of one step of a job; 0: not known
  // Sums over ranks and steps.
  std::int64_t device_time_ns = 0, device_time_recorded_ns = 0;
  std::int64_t linked_device_time_ns = 0, linked_device_time_recorded_ns = 0;
  double unknown_share = 0, default_share = 0;
  std::string without_rate;  // types of products that the machine lacks, "bfloat16"; or empty
  std::optional<PowerPrediction> power;

  // What predict/extended_job.h alone needs of power over time.
  void DropStretches() {
    for (std::size_t i = 0; power && i < power->devices.size(); ++i) {
      power->devices[i].stretches = {};
    }
  }
  // Of the step what is neither a transfer alone nor a bubble: operations, and their launches.
  [[nodiscard]] std::int64_t working_ns() const {
    return std::max<std::int64_t>(step_time_ns - exposed_communication_ns - bubble_ns, 0);
  }
  [[nodiscard]] std::optional<double> PerSecond(std::int64_t count) const {
    return count > 0 && step_time_ns > 0 ? std::optional(static_cast<double>(count) /
                                                         (static_cast<double>(step_time_ns) / 1e9))
                                         : std::nullopt;
  }
};

}  // namespace reprise
