#include "report/page/html_telemetry.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "report/energy/energy_meters.h"
#include "report/energy/load.h"
#include "report/energy/series.h"

namespace reprise {
namespace {

// Lower is more important: power, temperature, clocks, utilisation, the rest.
int ImportanceOf(const Metric& metric) {
  static constexpr std::string_view kOrder[] = {"joules", "watts", "celsius", "hertz", "fraction"};
  const auto* const found = std::find(std::begin(kOrder), std::end(kOrder), metric.unit);
  return static_cast<int>(found - std::begin(kOrder));
}

// A total's rate from each reading to the next.
std::vector<SeriesStep> Rates(std::span<const Sample> samples) {
  std::vector<SeriesStep> steps;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    if (b.time_ns > a.time_ns && !std::isnan(a.value) && !std::isnan(b.value)) {
      const double seconds = static_cast<double>(b.time_ns - a.time_ns) * 1e-9;
      steps.push_back({a.time_ns, b.time_ns, (b.value - a.value) / seconds});
    }
  }
  return steps;
}

std::string ShownUnit(const Metric& metric) {
  if (metric.unit == "joules" && IsTotal(metric.kind)) {
    return "watts";
  }
  return IsTotal(metric.kind) ? metric.unit + "/s" : metric.unit;
}

// As points where that takes no more numbers, else the least and most of each bin.
void FillSeries(std::span<const SeriesStep> steps, Interval window, std::int64_t origin_ns,
                std::size_t bins, TelemetrySeries& series) {
  if (steps.size() <= 2 * bins) {
    for (const SeriesStep& step : steps) {
      series.times_ns.push_back(step.begin_ns - origin_ns);
      series.low.push_back(step.value);
    }
    return;
  }
  series.binned = true;
  const std::int64_t width_ns =
      (window.second - window.first) / static_cast<std::int64_t>(bins) + 1;
  std::map<std::int64_t, std::pair<double, double>> range;
  for (const SeriesStep& step : steps) {
    const auto [at, added] = range.try_emplace((step.begin_ns - window.first) / width_ns,
                                               std::pair(step.value, step.value));
    at->second.first = std::min(at->second.first, step.value);
    at->second.second = std::max(at->second.second, step.value);
  }
  for (const auto& [bin, values] : range) {
    series.times_ns.push_back(window.first + bin * width_ns - origin_ns);
    series.low.push_back(values.first);
    series.high.push_back(values.second);
  }
}

}  // namespace

// Of a host whose ranks stand at `host_ranks` in `ranks`.
class TelemetryReduction::HostReduction {
 public:
  HostReduction(std::span<const MeasuredRank> ranks, std::vector<std::size_t> host_ranks,
                std::size_t sampled_by, const std::vector<const Metric*>& metrics)
      : ranks_(ranks),
        host_ranks_(std::move(host_ranks)),
        metrics_(metrics),
        sampler_(ranks[sampled_by]),
        samples_(sampler_.data()) {
    const auto& samples = sampler_.data().samples;
    const auto [first, last] = std::ranges::minmax_element(samples, {}, &Sample::time_ns);
    window_ = {first->time_ns, last->time_ns + 1};
    measured_ = sampler_.begin_ns() < sampler_.end_ns()
                    ? Interval(sampler_.begin_ns(), sampler_.end_ns())
                    : window_;
  }

  // From the first sample to just after the last.
  [[nodiscard]] Interval window() const { return window_; }

  // All but what ran.
  TelemetryHost Reduce(const std::string& name, std::size_t bins) {
    TelemetryHost out{.host = name,
                      .sampled_by = sampler_.data().rank,
                      .begin_ns = window_.first - measured_.first,
                      .end_ns = window_.second - measured_.first};
    for (const std::size_t r : host_ranks_) {
      out.ranks.push_back(ranks_[r].data().rank);
    }
    for (const Metric* metric : metrics_) {
      AddSeries(*metric, bins, out);
    }
    AddIterations(out);
    out.bin_ns = (window_.second - window_.first) / static_cast<std::int64_t>(bins) + 1;
    return out;
  }

 private:
  [[nodiscard]] std::vector<SeriesStep> Steps(const Metric& metric, Interval window) const {
    if (metric.kind != MetricKind::kCounter) {
      return samples_.Steps(metric, window);
    }
    std::vector<SeriesStep> steps = Rates(samples_.Of(metric));
    std::erase_if(steps, [&](const SeriesStep& step) {
      return step.begin_ns < window.first || step.end_ns > window.second;
    });
    return steps;
  }

  void AddSeries(const Metric& metric, std::size_t bins, TelemetryHost& out) const {
    const std::vector<SeriesStep> steps = Steps(metric, window_);
    if (steps.empty()) {
      return;
    }
    TelemetrySeries series{.device = metric.device,
                           .metric = metric.name,
                           .unit = ShownUnit(metric),
                           .source = metric.source,
                           .modelled = metric.modelled};
    series.ranks = UsersOf(metric, sampler_.data(), ranks_, host_ranks_);
    std::vector<SeriesStep> measured = Steps(metric, measured_);
    const std::vector<SeriesStep>& counted = measured.empty() ? steps : measured;
    series.mean = MeanOf(counted).value_or(0);
    series.max = std::ranges::max_element(counted, {}, &SeriesStep::value)->value;
    FillSeries(steps, window_, measured_.first, bins, series);
    out.series.push_back(std::move(series));
  }

  void AddIterations(TelemetryHost& out) const {
    std::map<std::int32_t, TelemetryIteration> iterations;
    for (const std::size_t r : host_ranks_) {
      for (const StepRecord& step : ranks_[r].data().steps) {
        const std::int64_t begin_ns = step.start_ns - measured_.first;
        const std::int64_t end_ns = begin_ns + step.duration_ns;
        const auto [at, added] =
            iterations.try_emplace(step.iteration, TelemetryIteration{.iteration = step.iteration,
                                                                      .warmup = step.warmup,
                                                                      .begin_ns = begin_ns,
                                                                      .end_ns = end_ns});
        at->second.begin_ns = std::min(at->second.begin_ns, begin_ns);
        at->second.end_ns = std::max(at->second.end_ns, end_ns);
      }
    }
    for (const auto& [unused, iteration] : iterations) {
      out.iterations.push_back(iteration);
    }
  }

  std::span<const MeasuredRank> ranks_;
  std::vector<std::size_t> host_ranks_;
  const std::vector<const Metric*>& metrics_;
  const MeasuredRank& sampler_;
  SampleTable samples_;
  Interval window_, measured_;
};

TelemetryReduction::TelemetryReduction(std::span<const MeasuredRank> outline,
                                       std::span<const RankRow> rank_rows,
                                       const HtmlLimits& limits) {
  FindHosts(outline, rank_rows);
  series_left_out_ = KeepMostImportant(limits.series);
  std::size_t lines = 0;
  for (const Host& host : hosts_) {
    lines += host.metrics.size();
  }
  // A bin is a time, a least and a most; what ran takes about as much as four series a host.
  lines += 4 * hosts_.size();
  bins_ = std::clamp<std::size_t>(limits.points / (3 * std::max<std::size_t>(lines, 1)), 16,
                                  limits.bins);
  for (Host& host : hosts_) {
    HostReduction reduction(outline, host.ranks, host.sampled_by, host.metrics);
    host.window = reduction.window();
    host.reduced = reduction.Reduce(rank_rows[host.sampled_by].host, bins_);
    host.running.resize(kOpClassCount);
  }
}

void TelemetryReduction::FindHosts(std::span<const MeasuredRank> outline,
                                   std::span<const RankRow> rank_rows) {
  for (std::size_t r = 0; r < outline.size(); ++r) {
    if (outline[r].data().samples.empty()) {
      continue;
    }
    Host& host = hosts_.emplace_back();
    host.sampled_by = r;
    host.ranks = RanksOfHost(rank_rows, rank_rows[r].host);
    for (const Metric& metric : outline[r].data().metrics) {
      if (metric.kind != MetricKind::kState) {
        host.metrics.push_back(&metric);
      }
    }
  }
}

std::int64_t TelemetryReduction::KeepMostImportant(std::size_t most) {
  std::vector<std::pair<int, std::pair<std::size_t, const Metric*>>> all;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    for (const Metric* metric : hosts_[h].metrics) {
      all.push_back({ImportanceOf(*metric), {h, metric}});
    }
    hosts_[h].metrics.clear();
  }
  std::ranges::stable_sort(all, {}, [](const auto& row) { return row.first; });
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    hosts_[all[i].second.first].metrics.push_back(all[i].second.second);
  }
  return static_cast<std::int64_t>(all.size() - std::min(most, all.size()));
}

void TelemetryReduction::AddToBins(Interval time, const Host& host, std::vector<double>& bins) {
  const std::int64_t bin_ns = host.reduced.bin_ns;
  const std::int64_t begin_ns = std::max(time.first, host.window.first) - host.window.first;
  const std::int64_t end_ns = std::min(time.second, host.window.second) - host.window.first;
  for (std::int64_t at_ns = begin_ns; at_ns < end_ns;) {
    const std::int64_t bin = at_ns / bin_ns;
    const std::int64_t next_ns = std::min(end_ns, (bin + 1) * bin_ns);
    bins[static_cast<std::size_t>(bin)] +=
        static_cast<double>(next_ns - at_ns) / static_cast<double>(bin_ns);
    at_ns = next_ns;
  }
}

TelemetryReduction::Running TelemetryReduction::RunningOf(const MeasuredRun& part,
                                                          std::size_t r) const {
  Running running(hosts_.size());
  const std::vector<NodeInfo>& nodes = part.ranks[r].data().nodes;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    const Host& host = hosts_[h];
    if (!std::ranges::binary_search(host.ranks, part.positions[r])) {
      continue;
    }
    running[h].resize(kOpClassCount);
    VisitOperations(part.ranks, r, {.compute = true, .transfers = &part.transfers},
                    [&](const Interval& time, const Execution& execution) {
                      std::vector<double>& of_class =
                          running[h][static_cast<std::size_t>(nodes[execution.node].op_class)];
                      of_class.resize(bins_);
                      AddToBins(time, host, of_class);
                    });
  }
  return running;
}

void TelemetryReduction::Add(const Running& of_rank) {
  for (std::size_t h = 0; h < of_rank.size(); ++h) {
    for (std::size_t c = 0; c < of_rank[h].size(); ++c) {
      std::vector<double>& running = hosts_[h].running[c];
      running.resize(std::max(running.size(), of_rank[h][c].size()));
      for (std::size_t bin = 0; bin < of_rank[h][c].size(); ++bin) {
        running[bin] += of_rank[h][c][bin];
      }
    }
  }
}

Telemetry TelemetryReduction::Finish() {
  Telemetry telemetry{.hosts = {}, .series_left_out = series_left_out_};
  for (Host& host : hosts_) {
    for (std::size_t c = 0; c < host.running.size(); ++c) {
      if (!host.running[c].empty()) {
        host.reduced.classes.emplace_back(Name(static_cast<OpClass>(c)));
        host.reduced.running.push_back(std::move(host.running[c]));
      }
    }
    telemetry.hosts.push_back(std::move(host.reduced));
  }
  return telemetry;
}

}  // namespace reprise
