#include "predict/simulator/power/power_samples.h"

#include <algorithm>

#include "predict/simulator/power/power_window.h"

namespace reprise {
namespace {

constexpr double kNsSeconds = 1e-9;
constexpr std::int64_t kIdleNs = 1'000'000;

double LengthSeconds(std::int64_t ns) { return static_cast<double>(ns) * kNsSeconds; }

// What each node takes of its interval's power.
void AddNodes(const PowerTrack& track, const PowerInterval& interval,
              const std::vector<double>& node_watts, DevicePower& out) {
  double all = 0;
  for (std::uint32_t k = 0; k < interval.count; ++k) {
    all += node_watts[track.running[interval.first + k]];
  }
  if (all <= 0) {
    return;
  }
  const double joules =
      interval.watts_above_idle * LengthSeconds(interval.power.end_ns - interval.power.begin_ns);
  for (std::uint32_t k = 0; k < interval.count; ++k) {
    const std::uint32_t i = track.running[interval.first + k];
    out.node_joules[i] += joules * node_watts[i] / all;
  }
}

// Watts of a node above idle, over the time that the track has for it.
std::vector<double> WattsOf(std::span<const PoweredNode> nodes, const PowerTrack& track,
                            const ClockCurve& curve) {
  std::vector<std::int64_t> ns(nodes.size());
  for (const PowerInterval& interval : track.intervals) {
    for (std::uint32_t k = 0; k < interval.count; ++k) {
      ns[track.running[interval.first + k]] += interval.power.end_ns - interval.power.begin_ns;
    }
  }
  std::vector<double> watts(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    watts[i] = NodeWatts(nodes[i], static_cast<double>(ns[i]), curve, nodes[i].step());
  }
  return watts;
}

// The interval with the highest power in a window.
std::size_t HighestOf(const PowerTrack& track, const PowerWindow& window) {
  std::size_t highest = window.first;
  for (std::size_t i = window.first; i <= window.last; ++i) {
    highest = track.intervals[i].power.watts > track.intervals[highest].power.watts ? i : highest;
  }
  return highest;
}

PowerSample SampleOf(const PowerInterval& interval, const ClockCurve& curve, double joules,
                     double celsius) {
  return {interval.power.begin_ns, joules, interval.power.watts, curve.Hertz(0) * interval.clock,
          celsius};
}

// Equal parts of the window.
std::vector<PowerSample> EqualParts(const PowerTrack& track, const ClockCurve& curve,
                                    const Temperatures* temperatures) {
  const std::int64_t begin_ns = track.intervals.front().power.begin_ns;
  const std::int64_t length_ns = track.intervals.back().power.end_ns - begin_ns;
  std::vector<PowerSample> samples;
  double joules = 0;
  std::size_t at = 0;
  const auto bound = [&](std::size_t part) {
    return begin_ns + static_cast<std::int64_t>(static_cast<double>(length_ns) *
                                                static_cast<double>(part) / kMaxPowerSamples);
  };
  for (std::size_t part = 0; part < kMaxPowerSamples; ++part) {
    PowerSample sample{.time_ns = bound(part), .joules = joules};
    const std::int64_t end_ns =
        part + 1 == kMaxPowerSamples ? begin_ns + length_ns : bound(part + 1);
    if (temperatures != nullptr) {
      sample.celsius = temperatures->at_begin[at];
    }
    while (at < track.intervals.size()) {
      const PowerInterval& interval = track.intervals[at];
      const std::int64_t ns = std::min(interval.power.end_ns, end_ns) -
                              std::max(interval.power.begin_ns, sample.time_ns);
      joules += interval.power.watts * LengthSeconds(ns);
      sample.hertz += curve.Hertz(0) * interval.clock * static_cast<double>(ns);
      if (interval.power.end_ns > end_ns) {
        break;
      }
      ++at;
    }
    at = std::min(at, track.intervals.size() - 1);
    const std::int64_t ns = std::max<std::int64_t>(end_ns - sample.time_ns, 1);
    sample.watts = (joules - sample.joules) / LengthSeconds(ns);
    sample.hertz /= static_cast<double>(ns);
    samples.push_back(sample);
  }
  PowerSample last = samples.back();
  last.time_ns = begin_ns + length_ns;
  last.joules = joules;
  samples.push_back(last);
  return samples;
}

}  // namespace

std::vector<PowerSample> CondenseTrack(const PowerTrack& track, const ClockCurve& curve,
                                       const Temperatures* temperatures) {
  std::vector<PowerSample> samples;
  if (track.intervals.empty()) {
    return samples;
  }
  if (track.intervals.size() > kMaxPowerSamples) {
    samples = EqualParts(track, curve, temperatures);
  } else {
    double joules = 0;
    for (std::size_t i = 0; i < track.intervals.size(); ++i) {
      const PowerInterval& interval = track.intervals[i];
      const double celsius = temperatures != nullptr ? temperatures->at_begin[i] : 0;
      samples.push_back(SampleOf(interval, curve, joules, celsius));
      joules +=
          interval.power.watts * LengthSeconds(interval.power.end_ns - interval.power.begin_ns);
    }
    samples.push_back(samples.back());
    samples.back().time_ns = track.intervals.back().power.end_ns;
    samples.back().joules = joules;
  }
  if (temperatures != nullptr) {
    samples.back().celsius = temperatures->at_end;
  }
  return samples;
}

DevicePower DescribeDevice(std::span<const PoweredNode> nodes, const PowerTrack& track,
                           const ClockCurve& curve, double idle_watts, std::int64_t window_ns,
                           const Temperatures* temperatures) {
  DevicePower out;
  const std::vector<double> node_watts = WattsOf(nodes, track, curve);
  out.node_joules.resize(nodes.size());
  std::int64_t length_ns = 0;
  for (const PowerInterval& interval : track.intervals) {
    const std::int64_t ns = interval.power.end_ns - interval.power.begin_ns;
    length_ns += ns;
    out.joules += interval.power.watts * LengthSeconds(ns);
    out.idle_joules += idle_watts * LengthSeconds(ns);
    out.throttled_ns += interval.reasons != 0 ? ns : 0;
    out.throttled_by_power_ns += (interval.reasons & kThrottledByPower) != 0 ? ns : 0;
    out.throttled_by_heat_ns += (interval.reasons & kThrottledByHeat) != 0 ? ns : 0;
    AddNodes(track, interval, node_watts, out);
    if (out.throttling.empty() || out.throttling.back().reasons != interval.reasons) {
      out.throttling.push_back({interval.power.begin_ns, interval.reasons});
    }
  }
  if (const auto peak = HighestWindow(track, window_ns)) {
    out.throttling.push_back({track.intervals.back().power.end_ns, out.throttling.back().reasons});
    out.mean_watts = out.joules / LengthSeconds(length_ns);
    out.peak_watts = peak->watts;
    out.peak = {peak->begin_ns, peak->end_ns};
    for (const std::uint32_t i : track.Running(HighestOf(track, *peak))) {
      out.peak_nodes.push_back(nodes[i].node);
    }
  }
  if (temperatures != nullptr) {
    out.mean_celsius = temperatures->mean;
    out.max_celsius = temperatures->max;
  }
  out.samples = CondenseTrack(track, curve, temperatures);
  return out;
}

ModelledTelemetry TelemetryOf(const DevicePower& power, const PowerOutcome& outcome,
                              const DeviceModel& device, const std::string& name) {
  ModelledTelemetry telemetry;
  std::int64_t longest_ns = 1;
  for (std::size_t i = 1; i < power.samples.size(); ++i) {
    longest_ns = std::max(longest_ns, power.samples[i].time_ns - power.samples[i - 1].time_ns);
  }
  const auto add = [&](const char* metric, const char* unit, MetricKind kind, const char* help) {
    Metric added{.id = static_cast<std::int32_t>(telemetry.metrics.size()),
                 .name = metric,
                 .unit = unit,
                 .device = name,
                 .source = "model",
                 .kind = kind,
                 .modelled = true,
                 .help = std::string("MODELLED: ") + help,
                 .period_ns = longest_ns};
    telemetry.metrics.push_back(std::move(added));
    return telemetry.metrics.back().id;
  };
  const auto sample = [&](std::int32_t metric, std::int64_t time_ns, double value) {
    telemetry.samples.push_back({metric, time_ns, value});
  };
  const std::int32_t energy = add("gpu_energy", "joules", MetricKind::kEnergy,
                                  "idle power, and the energy of operations and transfers");
  const std::int32_t watts =
      add("power", "watts", MetricKind::kGauge, "mean until the next sample");
  const std::int32_t limit = add("power_limit", "watts", MetricKind::kGauge, "limit in force");
  telemetry.idle_begin_ns = outcome.window.begin_ns - kIdleNs;
  telemetry.idle_end_ns = outcome.window.begin_ns;
  const double before = device.power.idle_watts->value * LengthSeconds(kIdleNs);
  sample(energy, telemetry.idle_begin_ns, 0);
  for (const PowerSample& at : power.samples) {
    sample(energy, at.time_ns, before + at.joules);
    sample(watts, at.time_ns, at.watts);
    sample(limit, at.time_ns, outcome.limit_watts);
  }
  if (HasClockCurve(device)) {
    const std::int32_t clock =
        add("sm_clock", "hertz", MetricKind::kGauge, "lowest of the operations that run");
    const std::int32_t most = add("max_sm_clock", "hertz", MetricKind::kGauge, "highest clock");
    const std::int32_t reasons =
        add("throttle_reasons", "count", MetricKind::kState, "why the clock is not the highest");
    telemetry.metrics.back().states = kThrottleReasons;
    telemetry.metrics.back().period_ns = outcome.window.end_ns - outcome.window.begin_ns;
    for (const PowerSample& at : power.samples) {
      sample(clock, at.time_ns, at.hertz);
      sample(most, at.time_ns, device.power.clock_max_hertz->value);
    }
    for (const ThrottleChange& at : power.throttling) {
      sample(reasons, at.time_ns, at.reasons);
    }
  }
  if (power.max_celsius) {
    const std::int32_t celsius = add("temperature", "celsius", MetricKind::kGauge, "of the device");
    for (const PowerSample& at : power.samples) {
      sample(celsius, at.time_ns, at.celsius);
    }
  }
  return telemetry;
}

}  // namespace reprise
