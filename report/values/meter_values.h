// Energy and metrics over the measured time: values of the report.
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

}  // namespace reprise
