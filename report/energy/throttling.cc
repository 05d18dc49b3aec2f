#include "report/energy/throttling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "core/median.h"
#include "report/energy/energy_meters.h"
#include "report/energy/load.h"
#include "report/energy/power_peaks.h"
#include "report/energy/series.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxNames = 5;

// A state metric's bits are read as a number; anything else says nothing.
std::uint64_t BitsOf(double value) {
  return value > 0 && value < 1e15 ? static_cast<std::uint64_t>(value) : 0;
}

// The reasons of a state; a bit without a name keeps its number.
std::vector<std::string> ReasonsOf(std::uint64_t bits, const std::vector<std::string_view>& names) {
  std::vector<std::string> reasons;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((bits >> bit & 1U) != 0) {
      reasons.push_back(bit < names.size() && !names[bit].empty() ? std::string(names[bit])
                                                                  : "bit " + std::to_string(bit));
    }
  }
  return reasons;
}

std::vector<NamedTime> MostFirst(const std::map<std::string, std::int64_t>& times,
                                 std::size_t most) {
  std::vector<NamedTime> rows;
  rows.reserve(times.size());
  for (const auto& [name, ns] : times) {
    rows.push_back({name, ns});
  }
  std::ranges::stable_sort(rows, std::greater{}, &NamedTime::ns);
  rows.resize(std::min(rows.size(), most));
  return rows;
}

bool Contains(const std::vector<Interval>& sorted, std::int64_t time_ns) {
  const auto after = std::upper_bound(sorted.begin(), sorted.end(), Interval{time_ns, INT64_MAX});
  return after != sorted.begin() && (after - 1)->second > time_ns;
}

// When and why a device throttled. Host, device and source are the caller's to fill in.
class Throttling {
 public:
  // `reasons` is the metric of the device's throttle reasons, `load` what its ranks ran.
  Throttling(const Metric& reasons, const SampleTable& samples, Interval window,
             std::span<const MeasuredRank> ranks, const Load& load)
      : reasons_(reasons), samples_(samples), window_(window), ranks_(ranks), load_(load) {}

  ThrottleRow Describe() {
    FindIntervals();
    if (!row_.intervals.empty()) {
      FindClock();
      AddClocks();
      AddOperations();
    }
    return std::move(row_);
  }

 private:
  void FindIntervals() {
    const std::vector<std::string_view> names = StateNames(reasons_.states);
    std::map<std::string, std::int64_t> times;
    std::uint64_t bits = 0;  // of the last interval, all that held in it
    for (const SeriesStep& step : samples_.Steps(reasons_, window_)) {
      row_.measured_ns += step.end_ns - step.begin_ns;
      const std::uint64_t now = BitsOf(step.value);
      if (now == 0) {
        continue;
      }
      if (intervals_.empty() || intervals_.back().second < step.begin_ns) {
        intervals_.emplace_back(step.begin_ns, step.begin_ns);
        row_.intervals.push_back({.begin_ns = step.begin_ns - window_.first});
        bits = 0;
      }
      bits |= now;
      intervals_.back().second = step.end_ns;
      row_.intervals.back().length_ns = step.end_ns - intervals_.back().first;
      row_.intervals.back().reasons = ReasonsOf(bits, names);
      for (const std::string& reason : ReasonsOf(now, names)) {
        times[reason] += step.end_ns - step.begin_ns;
      }
    }
    row_.throttled_ns = Length(intervals_);
    row_.reasons = MostFirst(times, times.size());
  }

  // Whether the device worked at a time: where operations of its ranks are known, whether one ran;
  // else what its meter says.
  [[nodiscard]] std::vector<Interval> BusyTimes() const {
    if (!load_.times.empty()) {
      return Union(load_.times);
    }
    const Metric* utilization = samples_.Find("utilization", reasons_);
    if (utilization == nullptr) {
      return {window_};
    }
    std::vector<Interval> busy;
    for (const SeriesStep& step : samples_.Steps(*utilization, window_)) {
      if (step.value > 0) {
        busy.emplace_back(step.begin_ns, step.end_ns);
      }
    }
    return Union(std::move(busy));
  }

  void FindClock() {
    if (const Metric* clock = samples_.Find("sm_clock", reasons_)) {
      clocks_ = samples_.Steps(*clock, window_);
    }
    // A model knows its highest clock; its samples are means, also of throttled time.
    const std::vector<Interval> busy = reasons_.modelled ? std::vector<Interval>() : BusyTimes();
    std::vector<std::int64_t> free;  // hertz
    for (const SeriesStep& step : clocks_) {
      if (!Contains(intervals_, step.begin_ns) && Contains(busy, step.begin_ns)) {
        free.push_back(std::llround(step.value));
      }
    }
    if (const auto median = Median(free)) {
      row_.unthrottled_hertz = static_cast<double>(*median);
      row_.unthrottled_from = "busy samples";
    } else if (const Metric* most = samples_.Find("max_sm_clock", reasons_)) {
      row_.unthrottled_hertz = MeanOf(samples_.Steps(*most, window_));
      row_.unthrottled_from = row_.unthrottled_hertz ? "max_sm_clock" : "";
    }
  }

  void AddClocks() {
    auto step = clocks_.begin();
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
      while (step != clocks_.end() && step->end_ns <= intervals_[i].first) {
        ++step;
      }
      std::vector<SeriesStep> inside;
      for (auto at = step; at != clocks_.end() && at->begin_ns < intervals_[i].second; ++at) {
        inside.push_back({std::max(at->begin_ns, intervals_[i].first),
                          std::min(at->end_ns, intervals_[i].second), at->value});
      }
      ThrottleInterval& interval = row_.intervals[i];
      interval.clock_hertz = MeanOf(inside);
      if (interval.clock_hertz && row_.unthrottled_hertz && *row_.unthrottled_hertz > 0) {
        interval.lost_ns =
            std::llround(static_cast<double>(interval.length_ns) *
                         std::max(0.0, 1 - *interval.clock_hertz / *row_.unthrottled_hertz));
        row_.lost_ns = row_.lost_ns.value_or(0) + *interval.lost_ns;
      }
    }
  }

  void AddOperations() {
    std::vector<std::map<std::string, std::int64_t>> classes(intervals_.size());
    std::vector<std::map<std::string, std::int64_t>> operations(intervals_.size());
    for (std::size_t i = 0; i < load_.times.size(); ++i) {
      const auto& [begin_ns, end_ns] = load_.times[i];
      const NodeInfo& node =
          ranks_[load_.executions[i].rank].data().nodes[load_.executions[i].node];
      auto at = std::upper_bound(
          intervals_.begin(), intervals_.end(), begin_ns,
          [](std::int64_t ns, const Interval& interval) { return ns < interval.second; });
      for (; at != intervals_.end() && at->first < end_ns; ++at) {
        const std::int64_t ns = std::min(end_ns, at->second) - std::max(begin_ns, at->first);
        const auto k = static_cast<std::size_t>(at - intervals_.begin());
        classes[k][std::string(Name(node.op_class))] += ns;
        operations[k][node.name] += ns;
      }
    }
    for (std::size_t k = 0; k < intervals_.size(); ++k) {
      row_.intervals[k].classes = MostFirst(classes[k], kMaxNames);
      row_.intervals[k].operations = MostFirst(operations[k], kMaxNames);
    }
  }

  const Metric& reasons_;
  const SampleTable& samples_;
  Interval window_;
  std::span<const MeasuredRank> ranks_;
  const Load& load_;
  std::vector<Interval> intervals_;  // as row_.intervals, on the host's clock
  std::vector<SeriesStep> clocks_;
  ThrottleRow row_;
};

bool IsGaugeOfPower(const Metric& metric) {
  return metric.unit == "watts" && MeasuresEnergy(metric);
}

// One rank that samples, with its host's ranks.
class ThermalExamination {
 public:
  ThermalExamination(std::span<const MeasuredRank> ranks, std::span<const RankRow> rank_rows,
                     std::size_t sampled_by, const TransferSummary& transfers, ThermalDetails& out)
      : ranks_(ranks),
        data_(ranks[sampled_by].data()),
        host_(rank_rows[sampled_by].host),
        window_(ranks[sampled_by].begin_ns(), ranks[sampled_by].end_ns()),
        samples_(data_),
        transfers_(transfers),
        host_ranks_(RanksOfHost(rank_rows, host_)),
        out_(out) {}

  void Run() {
    for (const Metric& metric : data_.metrics) {
      if (metric.kind == MetricKind::kState && metric.name == "throttle_reasons") {
        AddThrottling(metric);
      } else if (IsGaugeOfPower(metric) ||
                 (metric.kind == MetricKind::kEnergy && !HasGaugeOfPower(metric))) {
        AddPeaks(metric);
      } else if (metric.unit == "celsius") {
        if (auto row = DescribeHeating(samples_.Steps(metric, window_))) {
          Add(out_.heating, *row, metric);
        }
      }
    }
  }

 private:
  template <typename Row>
  void Add(std::vector<Row>& rows, Row row, const Metric& metric) {
    row.host = host_;
    row.device = metric.device;
    row.source = metric.source;
    row.modelled = metric.modelled;
    row.devices = RanksAlike(data_);
    if constexpr (requires { row.metric; }) {
      row.metric = metric.name;
    }
    rows.push_back(std::move(row));
  }

  void AddThrottling(const Metric& reasons) {
    const auto on_device = RanksOnDevice(reasons, data_, ranks_, host_ranks_);
    Load load;
    for (const std::size_t r : on_device.value_or(host_ranks_)) {
      const bool transfers = !on_device || IsModelled(ranks_[r].data());
      AddOperations(ranks_, r, {.compute = true, .transfers = transfers ? &transfers_ : nullptr},
                    load);
    }
    ThrottleRow row = Throttling(reasons, samples_, window_, ranks_, load).Describe();
    if (row.measured_ns > 0) {
      Add(out_.throttling, std::move(row), reasons);
    }
  }

  void AddPeaks(const Metric& metric) {
    std::optional<double> limit;
    if (const Metric* limits = samples_.Find("power_limit", metric)) {
      limit = MeanOf(samples_.Steps(*limits, window_));
    }
    if (auto row = DescribePeaks(samples_.Steps(metric, window_), limit)) {
      Add(out_.peaks, *row, metric);
    }
  }

  [[nodiscard]] bool HasGaugeOfPower(const Metric& total) const {
    return std::ranges::any_of(data_.metrics, [&total](const Metric& metric) {
      return IsGaugeOfPower(metric) && metric.device == total.device &&
             metric.source == total.source;
    });
  }

  std::span<const MeasuredRank> ranks_;
  const RankData& data_;
  std::string host_;
  Interval window_;
  SampleTable samples_;
  const TransferSummary& transfers_;
  std::vector<std::size_t> host_ranks_;
  ThermalDetails& out_;
};

}  // namespace

ThermalDetails ExamineThermal(std::span<const MeasuredRank> ranks,
                              std::span<const RankRow> rank_rows,
                              const TransferSummary& transfers) {
  ThermalDetails details;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].data().samples.empty()) {
      ThermalExamination(ranks, rank_rows, r, transfers, details).Run();
    }
  }
  return details;
}

}  // namespace reprise
