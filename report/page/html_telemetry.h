// Telemetry against time for the HTML report, with what ran below it, reduced to bins. Only report/
// sees this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/nodes/intervals.h"
#include "report/nodes/measured_run.h"
#include "report/sections/html_limits.h"
#include "report/values/rank_values.h"

namespace reprise {

// One metric. Either points (`low` holds from its time on), or bins of equal width.
struct TelemetrySeries {
  std::string device, metric, unit, source;  // totals as rates: joules in watts, others "<unit>/s"
  bool modelled = false;
  std::vector<std::int32_t> ranks;  // that compute on the device; empty: the host's, or not known
  double mean = 0, max = 0;         // over the measured time; over all time where nothing is
  bool binned = false;
  std::vector<std::int64_t> times_ns;  // points; of bins the begins
  std::vector<double> low, high;       // of bins that hold a value; of points `low` alone
};

// A rank's iteration, as the ranks of the host ran it.
struct TelemetryIteration {
  std::int32_t iteration = 0;
  bool warmup = false;
  std::int64_t begin_ns = 0, end_ns = 0;
};

// One host. Times count from the begin of the time that the rank which samples measured, or from
// the first sample where nothing is measured.
struct TelemetryHost {
  std::string host;
  std::int32_t sampled_by = 0;
  std::vector<std::int32_t> ranks;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::vector<TelemetrySeries> series;
  std::vector<TelemetryIteration> iterations;
  // Mean number of operations of a class that ran at once, by class and bin of `bin_ns` from
  // begin_ns on.
  std::int64_t bin_ns = 0;
  std::vector<std::string> classes;
  std::vector<std::vector<double>> running;
};

struct Telemetry {
  std::vector<TelemetryHost> hosts;
  std::int64_t series_left_out = 0;  // the least important kinds, from the last hosts on
};

// Ranks come in any number of parts.
class TelemetryReduction {
 public:
  // Of all ranks, with `rank_rows` that name the hosts; must outlive it.
  TelemetryReduction(std::span<const MeasuredRank> outline, std::span<const RankRow> rank_rows,
                     const HtmlLimits& limits);

  // What a rank ran, by host, class and bin; empty: nothing.
  using Running = std::vector<std::vector<std::vector<double>>>;
  // Of the rank at this position in its part; of several at once.
  [[nodiscard]] Running RunningOf(const MeasuredRun& part, std::size_t r) const;
  // Each rank's once, in order.
  void Add(const Running& of_rank);
  // Hosts in the order of the ranks that sample.
  [[nodiscard]] Telemetry Finish();

 private:
  // One sampling rank, and the metrics that are shown.
  struct Host {
    std::size_t sampled_by = 0;  // position
    std::vector<const Metric*> metrics;
    std::vector<std::size_t> ranks;  // positions
    Interval window;
    TelemetryHost reduced;                     // without what ran
    std::vector<std::vector<double>> running;  // by class and bin; empty: nothing of the class
  };
  class HostReduction;
  void FindHosts(std::span<const MeasuredRank> outline, std::span<const RankRow> rank_rows);
  static void AddToBins(Interval time, const Host& host, std::vector<double>& bins);
  // Drops the least important metrics until all fit; returns how many.
  [[nodiscard]] std::int64_t KeepMostImportant(std::size_t most);

  std::vector<Host> hosts_;
  std::size_t bins_ = 0;
  std::int64_t series_left_out_ = 0;
};

}  // namespace reprise
