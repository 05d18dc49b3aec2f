// What limited the devices: throttling, power above the usual, heating. The rules are
// docs/definitions.md's ("Throttling", "Power peaks"), the JSON is docs/run_format.md's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprise {

struct NamedTime {
  std::string name;
  std::int64_t ns = 0;
};

// An interval in which a device gave a reason for not running at full clock.
struct ThrottleInterval {
  std::int64_t begin_ns = 0;  // from the measured time's begin
  std::int64_t length_ns = 0;
  std::vector<std::string> reasons;
  std::optional<double> clock_hertz;  // mean
  std::optional<std::int64_t> lost_ns;
  // What the device's ranks ran meanwhile, most time first.
  std::vector<NamedTime> classes, operations;
};

struct ThrottleRow {
  std::string host, device, source;
  bool modelled = false;
  std::int64_t devices = 1;  // equal ones that the row stands for; the numbers are of one
  std::int64_t measured_ns = 0, throttled_ns = 0;
  std::vector<NamedTime> reasons;  // time under each; they overlap
  // The clock without throttling, and where it is from: "busy samples" (median) or "max_sm_clock".
  std::optional<double> unthrottled_hertz;
  std::string unthrottled_from;
  std::optional<std::int64_t> lost_ns;  // an estimate
  std::vector<ThrottleInterval> intervals;
};

// One meter's power over the measured time.
struct PowerPeakRow {
  std::string host, device, metric, source;
  bool modelled = false;
  std::int64_t devices = 1;  // as ThrottleRow::devices
  double mean_watts = 0, deviation_watts = 0, max_watts = 0;
  double threshold_watts = 0;  // mean + 2 standard deviations
  std::int64_t excursions = 0, excursion_ns = 0, longest_ns = 0;
  double coefficient_of_variation = 0;
  std::optional<double> burstiness;  // of three excursions or more
  // Against the device's power limit, where it has one.
  std::optional<double> limit_watts;
  std::int64_t above_limit = 0, above_limit_ns = 0;
};

struct HeatingRow {
  std::string host, device, metric, source;
  bool modelled = false;
  std::int64_t devices = 1;  // as ThrottleRow::devices
  double begin_celsius = 0, end_celsius = 0, max_celsius = 0;
  double celsius_per_minute = 0;  // least squares
};

struct ThermalDetails {
  std::vector<ThrottleRow> throttling;  // devices that tell, throttled or not
  std::vector<PowerPeakRow> peaks;
  std::vector<HeatingRow> heating;
};

}  // namespace reprise
