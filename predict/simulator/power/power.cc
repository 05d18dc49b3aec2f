#include "predict/simulator/power/power.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nanoseconds.h"
#include "core/shown_text.h"
#include "predict/machine/rows_of_air.h"
#include "predict/machine/units.h"
#include "predict/simulator/power/power_limit.h"
#include "predict/simulator/power/power_samples.h"

namespace reprise {
namespace {

// Power rises with the clock at most with its third power, so that a third of the part by which a
// device must cool is never too much.
constexpr double kMinPart = 1.0 / 3;

class PowerSettlement {
 public:
  PowerSettlement(const PowerInput& input, std::vector<PoweredDevice>& devices, TimingGraph& timing,
                  Schedule& schedule)
      : input_(input),
        device_(input.machine.device),
        curve_(device_.power),
        window_ns_(LimitWindowNs(device_.power)),
        devices_(devices),
        timing_(timing),
        schedule_(schedule) {}

  Result<PowerOutcome> Run() {
    REPRISE_TRY(Prepare());
    std::optional<EventOrder> order;
    for (out_.rounds = 1;; ++out_.rounds) {
      FindTracks();
      FindAir();
      const bool changed = LowerClocks();
      if (!changed) {
        break;
      }
      if (out_.rounds == kMaxPowerRounds) {
        out_.settled = false;
        break;
      }
      if (!order) {
        REPRISE_ASSIGN(order, EventOrder::Find(timing_));
      }
      Stretch();
      schedule_ = order->Run({timing_.duration_ns, timing_.delay_ns, timing_.transfer_ns});
    }
    Describe();
    return std::move(out_);
  }

 private:
  Status Prepare() {
    const double own = device_.power.limit_watts->value;
    out_.limit_watts = std::min(own, input_.options.limit_watts.value_or(own));
    const double idle = device_.power.idle_watts->value;
    if (out_.limit_watts <= idle) {
      return UsageError(
          fmt::format("--power-limit {:g} W is not above the idle power of {}, {:g} W",
                      out_.limit_watts, input_.machine.name, idle));
    }
    if (out_.limit_watts < own && !HasClockCurve(device_)) {
      return BadInput(fmt::format(
          "machine {} has no clock-power curve, which --power-limit needs; add device.clock.min, "
          ".ridge, .max, .step and device.power.low_voltage to its file (docs/machine_format.md)",
          input_.machine.name));
    }
    if (input_.options.until_steady && !HasThermal(device_)) {
      return BadInput(
          fmt::format("machine {} has no thermal numbers, which --until-steady needs; add "
                      "device.thermal to its file (docs/machine_format.md)",
                      input_.machine.name));
    }
    limiter_.emplace(curve_, idle, out_.limit_watts, window_ns_);
    limits_ = (input_.follows_limit || out_.limit_watts < own) && HasClockCurve(device_);
    times_.resize(devices_.size());
    tracks_.resize(devices_.size());
    temperatures_.resize(devices_.size());
    air_.resize(devices_.size());
    for (PoweredDevice& device : devices_) {
      for (PoweredNode& node : device.nodes) {
        node.full_ns = timing_.duration_ns[node.node];
        if (!input_.follows_limit && !node.transfer && node.full_ns >= window_ns_) {
          KeepBelow(own - idle, node);
        }
      }
    }
    return {};
  }

  // Of a measured operation, which cannot have taken more.
  static void KeepBelow(double most_watts, PoweredNode& node) {
    const double seconds = static_cast<double>(std::max<std::int64_t>(node.full_ns, 1)) * 1e-9;
    const double joules = node.energy.core_joules + node.energy.other_joules;
    if (joules > most_watts * seconds) {
      node.energy.core_joules *= most_watts * seconds / joules;
      node.energy.other_joules *= most_watts * seconds / joules;
    }
  }

  std::vector<PoweredTime> TimesOf(const PoweredDevice& device) const {
    std::vector<PoweredTime> times;
    times.reserve(device.nodes.size());
    for (const PoweredNode& node : device.nodes) {
      PoweredTime time{schedule_.start_ns[node.node], schedule_.end_ns[node.node]};
      if (node.transfer) {
        time.begin_ns = std::max(time.begin_ns, time.end_ns - input_.own_ns(node.node));
      }
      if (time.end_ns <= time.begin_ns) {  // its energy must not be lost
        time.end_ns = std::min(time.begin_ns + 1, out_.window.end_ns);
        time.begin_ns = time.end_ns - 1;
      }
      times.push_back(time);
    }
    return times;
  }

  void FindTracks() {
    out_.window = {0, 1};
    if (!schedule_.start_ns.empty()) {
      out_.window.begin_ns = *std::ranges::min_element(schedule_.start_ns);
      out_.window.end_ns =
          std::max(*std::ranges::max_element(schedule_.end_ns), out_.window.begin_ns + 1);
    }
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      times_[d] = TimesOf(devices_[d]);
      tracks_[d] = TrackPower(devices_[d].nodes, times_[d], curve_, device_.power.idle_watts->value,
                              out_.window);
      // Measured times contain what the limit did to them.
      if (!limits_ && !input_.follows_limit) {
        limiter_->Cut(tracks_[d]);
      }
    }
  }

  [[nodiscard]] std::vector<PowerStretch> StretchesOf(std::size_t d) const {
    std::vector<PowerStretch> stretches;
    stretches.reserve(tracks_[d].intervals.size());
    for (const PowerInterval& interval : tracks_[d].intervals) {
      stretches.push_back(interval.power);
    }
    return stretches;
  }

  [[nodiscard]] double MeanWatts(std::size_t d) const {
    double joules = 0;
    for (const PowerInterval& interval : tracks_[d].intervals) {
      joules += interval.power.watts *
                static_cast<double>(interval.power.end_ns - interval.power.begin_ns);
    }
    return joules / static_cast<double>(out_.window.end_ns - out_.window.begin_ns);
  }

  // Of the air that reaches a device of a class. Classes of the same device in front are the same,
  // row by row.
  [[nodiscard]] double AirAt(std::int32_t device, std::int64_t number) const {
    const ThermalModel& thermal = device_.thermal;
    const std::optional<std::int64_t> front = DeviceInFront(thermal, number);
    if (!front || !thermal.preheat_kelvin_per_watt) {
      return thermal.inlet_celsius->value;
    }
    const std::int32_t of_front =
        device >= 0 ? devices_[static_cast<std::size_t>(device)].in_front : -1;
    const double watts = of_front >= 0 ? MeanWatts(static_cast<std::size_t>(of_front))
                                       : device_.power.idle_watts->value;
    return AirAt(of_front, *front) + thermal.preheat_kelvin_per_watt->value * watts;
  }

  void FindAir() {
    if (!HasThermal(device_)) {
      return;
    }
    const ThermalModel& thermal = device_.thermal;
    const double idle_rise = thermal.kelvin_per_watt->value * device_.power.idle_watts->value;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const std::vector<PowerStretch> stretches = StretchesOf(d);
      if (input_.options.until_steady) {
        air_[d] = AirAt(static_cast<std::int32_t>(d), devices_[d].first_rank);
        temperatures_[d] = SteadyTemperatures(thermal, air_[d], stretches);
      } else {
        air_[d] = thermal.inlet_celsius->value;
        temperatures_[d] = TemperaturesFrom(thermal, air_[d], air_[d] + idle_rise, stretches);
      }
    }
  }

  // Heat comes last: what the limit does cools, and what cools the front cools what is behind it.
  bool LowerClocks() {
    bool changed = false;
    out_.limit_unmet = out_.heat_unmet = false;
    for (std::size_t d = 0; limits_ && d < devices_.size(); ++d) {
      const auto met = limiter_->Meet(devices_[d].nodes, times_[d], tracks_[d]);
      changed = changed || met.changed;
      out_.limit_unmet = out_.limit_unmet || met.unmet;
    }
    return changed || (input_.options.until_steady && HasClockCurve(device_) && CoolFirstRow());
  }

  bool CoolFirstRow() {
    const double most = device_.thermal.throttle_celsius->value;
    std::int64_t row = INT64_MAX;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (temperatures_[d].max > most * kAboveLimit && MayCool(d)) {
        row = std::min(row, RowOf(device_.thermal, devices_[d].first_rank));
      }
    }
    bool changed = false;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (temperatures_[d].max <= most * kAboveLimit) {
        continue;
      }
      if (!MayCool(d)) {
        out_.heat_unmet = true;
      } else if (RowOf(device_.thermal, devices_[d].first_rank) == row) {
        Cool(d, most);
        changed = true;
      }
    }
    return changed;
  }

  // The highest clock of any operation.
  [[nodiscard]] std::int32_t HighestStep(std::size_t d) const {
    std::int32_t step = curve_.lowest();
    for (const PoweredNode& node : devices_[d].nodes) {
      step = FollowsClock(node) ? std::min(step, node.step()) : step;
    }
    return step;
  }
  [[nodiscard]] bool MayCool(std::size_t d) const { return HighestStep(d) < curve_.lowest(); }

  // A lower clock for all that the device runs.
  void Cool(std::size_t d, double most) {
    const double part =
        std::max(0.0, (most - air_[d]) / std::max(temperatures_[d].max - air_[d], 1e-9));
    const std::int32_t from = HighestStep(d);
    const double clock = curve_.Clock(from) * (1 - (1 - part) * kMinPart);
    const std::int32_t to = std::min(std::max(from + 1, curve_.StepAtMost(clock)), curve_.lowest());
    for (PoweredNode& node : devices_[d].nodes) {
      node.thermal_step = FollowsClock(node) ? to : 0;
    }
  }

  void Stretch() {
    for (const PoweredDevice& device : devices_) {
      for (const PoweredNode& node : device.nodes) {
        if (!node.transfer && node.step() > 0) {
          timing_.duration_ns[node.node] =
              NsOf(static_cast<double>(node.full_ns) * node.Stretch(curve_.Clock(node.step())));
        }
      }
    }
  }

  void Describe() {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      out_.devices.push_back(DescribeDevice(devices_[d].nodes, tracks_[d], curve_,
                                            device_.power.idle_watts->value, window_ns_,
                                            HasThermal(device_) ? &temperatures_[d] : nullptr));
      if (HasThermal(device_)) {
        out_.devices.back().air_celsius = air_[d];
        if (input_.keep_stretches) {
          out_.devices.back().stretches = StretchesOf(d);
        }
      }
    }
  }

  const PowerInput& input_;
  const DeviceModel& device_;
  const ClockCurve curve_;
  const std::int64_t window_ns_;
  std::vector<PoweredDevice>& devices_;
  TimingGraph& timing_;
  Schedule& schedule_;
  std::optional<PowerLimiter> limiter_;
  bool limits_ = false;
  std::vector<std::vector<PoweredTime>> times_;  // by device and node
  std::vector<PowerTrack> tracks_;               // by device
  std::vector<Temperatures> temperatures_;
  std::vector<double> air_;
  PowerOutcome out_;
};

}  // namespace

double PowerOutcome::joules(std::span<const PoweredDevice> of) const {
  double sum = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    sum += devices[d].joules * static_cast<double>(of[d].ranks);
  }
  return sum;
}

Result<double> ParsePowerLimit(const std::string& text) {
  const Result<Amount> amount = ParseAmount(text, "W");
  const Result<double> factor = amount ? UnitFactor(amount->unit, Dimension::kPower)
                                       : Result<double>(tl::unexpected<Error>(amount.error()));
  if (!factor || amount->value <= 0) {
    return UsageError(
        fmt::format("--power-limit {}: expected a power, as in 500W or 0.5kW", ShownText(text)));
  }
  return amount->value * *factor;
}

Result<PowerOutcome> SettlePower(const PowerInput& input, std::vector<PoweredDevice>& devices,
                                 TimingGraph& timing, Schedule& schedule) {
  return PowerSettlement(input, devices, timing, schedule).Run();
}

}  // namespace reprise
