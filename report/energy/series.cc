#include "report/energy/series.h"

#include <algorithm>
#include <cmath>

#include "core/sampled_energy.h"
#include "report/energy/power_curve.h"
#include "report/nodes/measured.h"

namespace reprise {
namespace {

std::vector<SeriesStep> HeldValues(std::int64_t period_ns, std::span<const Sample> samples) {
  std::vector<std::int64_t> times_ns(samples.size());
  std::ranges::transform(samples, times_ns.begin(), &Sample::time_ns);
  period_ns = std::max(period_ns, MedianDistance(times_ns).value_or(0));
  std::vector<SeriesStep> steps;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t begin_ns = samples[i].time_ns;
    const bool next = i + 1 < samples.size() &&
                      samples[i + 1].time_ns - begin_ns <= PowerCurve::kGapPeriods * period_ns;
    if (!std::isnan(samples[i].value)) {
      steps.push_back(
          {begin_ns, next ? samples[i + 1].time_ns : begin_ns + period_ns, samples[i].value});
    }
  }
  return steps;
}

std::vector<SeriesStep> MeanPowers(std::span<const Sample> samples, Interval window) {
  const std::vector<EnergyPoint> points =
      EnergyPoints(MetricKind::kEnergy, samples, window.first, window.second);
  std::vector<SeriesStep> steps;
  // Without the parts of an update at the ends: what the meter had not counted is not known.
  for (std::size_t i = 2; i + 1 < points.size(); ++i) {
    const std::int64_t length_ns = points[i].time_ns - points[i - 1].time_ns;
    if (length_ns > 0) {
      steps.push_back(
          {points[i - 1].time_ns, points[i].time_ns,
           (points[i].value - points[i - 1].value) / (static_cast<double>(length_ns) * 1e-9)});
    }
  }
  return steps;
}

}  // namespace

SampleTable::SampleTable(const RankData& data) : data_(&data) {
  // A sampler reads its metrics in turn: mostly the one after the last is meant.
  std::size_t last = 0;
  const auto slot = [&](std::int32_t id) {
    last = last + 1 < ids_.size() ? last + 1 : 0;
    if (last >= ids_.size() || ids_[last] != id) {
      last = Slot(id);
    }
    return last;
  };
  for (const Sample& sample : data.samples) {
    if (slot(sample.metric) == ids_.size()) {
      ids_.insert(std::lower_bound(ids_.begin(), ids_.end(), sample.metric), sample.metric);
    }
  }
  // Counting sort: millions of samples, few metrics.
  offsets_.assign(ids_.size() + 1, 0);
  for (const Sample& sample : data.samples) {
    ++offsets_[slot(sample.metric) + 1];
  }
  for (std::size_t i = 1; i < offsets_.size(); ++i) {
    offsets_[i] += offsets_[i - 1];
  }
  samples_.resize(data.samples.size());
  std::vector<std::size_t> next(offsets_);
  for (const Sample& sample : data.samples) {
    samples_[next[slot(sample.metric)]++] = sample;
  }
}

std::size_t SampleTable::Slot(std::int32_t id) const {
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  return found != ids_.end() && *found == id ? static_cast<std::size_t>(found - ids_.begin())
                                             : ids_.size();
}

std::span<const Sample> SampleTable::Of(const Metric& metric) const {
  const std::size_t slot = Slot(metric.id);
  return slot == ids_.size()
             ? std::span<const Sample>()
             : std::span(samples_.data() + offsets_[slot], samples_.data() + offsets_[slot + 1]);
}

const Metric* SampleTable::Find(std::string_view name, const Metric& beside) const {
  const auto found = std::ranges::find_if(data_->metrics, [&](const Metric& metric) {
    return metric.name == name && metric.device == beside.device && metric.source == beside.source;
  });
  return found == data_->metrics.end() ? nullptr : &*found;
}

std::vector<SeriesStep> SampleTable::Steps(const Metric& metric, Interval window) const {
  std::vector<SeriesStep> steps = metric.kind == MetricKind::kEnergy
                                      ? MeanPowers(Of(metric), window)
                                      : HeldValues(metric.period_ns, Of(metric));
  for (SeriesStep& step : steps) {
    step.begin_ns = std::max(step.begin_ns, window.first);
    step.end_ns = std::min(step.end_ns, window.second);
  }
  std::erase_if(steps, [](const SeriesStep& step) { return step.begin_ns >= step.end_ns; });
  return steps;
}

std::optional<double> MeanOf(std::span<const SeriesStep> steps) {
  double sum = 0, ns = 0;
  for (const SeriesStep& step : steps) {
    const auto length_ns = static_cast<double>(step.end_ns - step.begin_ns);
    sum += step.value * length_ns;
    ns += length_ns;
  }
  return ns > 0 ? std::optional(sum / ns) : std::nullopt;
}

}  // namespace reprise
