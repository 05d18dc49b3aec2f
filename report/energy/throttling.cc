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

}  // namespace

// When and why a device throttled. Host, device and source are the caller's to fill in.
class ThermalExamination::Throttling {
 public:
  // `reasons` is the metric of the device's throttle reasons; `users`, positions, run on it.
  Throttling(const Metric& reasons, const SampleTable& samples, Interval window,
             std::vector<std::size_t> users, bool with_transfers)
      : reasons_(reasons),
        samples_(samples),
        window_(window),
        users_(std::move(users)),
        with_transfers_(with_transfers) {
    FindIntervals();
    classes_.resize(intervals_.size());
    operations_.resize(intervals_.size());
  }

  // What the rank ran, where it runs on the device.
  void Add(const MeasuredRun& part, std::size_t r) {
    if (intervals_.empty() || std::ranges::find(users_, part.positions[r]) == users_.end()) {
      return;
    }
    const bool transfers = with_transfers_ || IsModelled(part.ranks[r].data());
    const std::vector<NodeInfo>& nodes = part.ranks[r].data().nodes;
    VisitOperations(part.ranks, r,
                    {.compute = true, .transfers = transfers ? &part.transfers : nullptr},
                    [&](const Interval& time, const Execution& execution) {
                      ran_ = true;
                      busy_.push_back(time);
                      AddOperation(nodes[execution.node], time);
                    });
    busy_ = Union(std::move(busy_));
  }

  ThrottleRow Describe() {
    if (!row_.intervals.empty()) {
      FindClock();
      AddClocks();
      for (std::size_t k = 0; k < intervals_.size(); ++k) {
        row_.intervals[k].classes = MostFirst(classes_[k], kMaxNames);
        row_.intervals[k].operations = MostFirst(operations_[k], kMaxNames);
      }
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
    if (ran_) {
      return busy_;
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

  void AddOperation(const NodeInfo& node, const Interval& time) {
    const auto& [begin_ns, end_ns] = time;
    auto at = std::upper_bound(
        intervals_.begin(), intervals_.end(), begin_ns,
        [](std::int64_t ns, const Interval& interval) { return ns < interval.second; });
    for (; at != intervals_.end() && at->first < end_ns; ++at) {
      const std::int64_t ns = std::min(end_ns, at->second) - std::max(begin_ns, at->first);
      const auto k = static_cast<std::size_t>(at - intervals_.begin());
      classes_[k][std::string(Name(node.op_class))] += ns;
      operations_[k][node.name] += ns;
    }
  }

  const Metric& reasons_;
  const SampleTable& samples_;
  Interval window_;
  std::vector<std::size_t> users_;
  bool with_transfers_ = false;
  std::vector<Interval> intervals_;  // as row_.intervals, on the host's clock
  std::vector<SeriesStep> clocks_;
  std::vector<Interval> busy_;  // when one of the ranks that came ran something
  bool ran_ = false;
  std::vector<std::map<std::string, std::int64_t>> classes_, operations_;  // by interval
  ThrottleRow row_;
};

namespace {

bool IsGaugeOfPower(const Metric& metric) {
  return metric.unit == "watts" && MeasuresEnergy(metric);
}

bool HasGaugeOfPower(const RankData& data, const Metric& total) {
  return std::ranges::any_of(data.metrics, [&total](const Metric& metric) {
    return IsGaugeOfPower(metric) && metric.device == total.device && metric.source == total.source;
  });
}

}  // namespace

// One rank that samples.
struct ThermalExamination::Sampler {
  Sampler(const MeasuredRank& rank, const std::string& on_host)
      : data(rank.data()), host(on_host), window(rank.begin_ns(), rank.end_ns()), samples(data) {}

  template <typename Row>
  void Add(std::vector<Row>& rows, Row row, const Metric& metric) const {
    row.host = host;
    row.device = metric.device;
    row.source = metric.source;
    row.modelled = metric.modelled;
    row.devices = RanksAlike(data);
    if constexpr (requires { row.metric; }) {
      row.metric = metric.name;
    }
    rows.push_back(std::move(row));
  }

  void AddPeaks(const Metric& metric, std::vector<PowerPeakRow>& rows) const {
    std::optional<double> limit;
    if (const Metric* limits = samples.Find("power_limit", metric)) {
      limit = MeanOf(samples.Steps(*limits, window));
    }
    if (auto row = DescribePeaks(samples.Steps(metric, window), limit)) {
      Add(rows, *row, metric);
    }
  }

  const RankData& data;
  std::string host;
  Interval window;
  SampleTable samples;
  std::map<const Metric*, Throttling> throttling;
};

ThermalExamination::ThermalExamination(std::span<const MeasuredRank> outline,
                                       std::span<const RankRow> rank_rows) {
  for (std::size_t r = 0; r < outline.size(); ++r) {
    if (outline[r].data().samples.empty()) {
      continue;
    }
    Sampler& sampler =
        *samplers_.emplace_back(std::make_unique<Sampler>(outline[r], rank_rows[r].host));
    const std::vector<std::size_t> host_ranks = RanksOfHost(rank_rows, sampler.host);
    for (const Metric& metric : sampler.data.metrics) {
      if (metric.kind == MetricKind::kState && metric.name == "throttle_reasons") {
        const auto on_device = RanksOnDevice(metric, sampler.data, outline, host_ranks);
        sampler.throttling.try_emplace(&metric, metric, sampler.samples, sampler.window,
                                       on_device.value_or(host_ranks), !on_device.has_value());
      }
    }
  }
}

ThermalExamination::~ThermalExamination() = default;

void ThermalExamination::Add(const MeasuredRun& part) {
  for (const std::unique_ptr<Sampler>& sampler : samplers_) {
    for (auto& [unused, throttling] : sampler->throttling) {
      for (std::size_t r = 0; r < part.ranks.size(); ++r) {
        throttling.Add(part, r);
      }
    }
  }
}

ThermalDetails ThermalExamination::Finish() {
  ThermalDetails out;
  for (const std::unique_ptr<Sampler>& sampler : samplers_) {
    for (const Metric& metric : sampler->data.metrics) {
      if (const auto at = sampler->throttling.find(&metric); at != sampler->throttling.end()) {
        ThrottleRow row = at->second.Describe();
        if (row.measured_ns > 0) {
          sampler->Add(out.throttling, std::move(row), metric);
        }
      } else if (IsGaugeOfPower(metric) ||
                 (metric.kind == MetricKind::kEnergy && !HasGaugeOfPower(sampler->data, metric))) {
        sampler->AddPeaks(metric, out.peaks);
      } else if (metric.unit == "celsius") {
        if (auto row = DescribeHeating(sampler->samples.Steps(metric, sampler->window))) {
          sampler->Add(out.heating, *row, metric);
        }
      }
    }
  }
  return out;
}

}  // namespace reprise
