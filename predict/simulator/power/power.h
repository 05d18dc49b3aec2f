// Power, clock and temperature of a simulated set: what devices take for what they run, how a limit
// lowers their clocks, how warm they get, and what both do to the times. Clocks and times depend on
// each other; they are iterated until neither changes.
//
// The limit holds for means over the machine's window (device.power.limit_window), wherever it
// begins; without one at every moment. A step that is shorter than the window has one mean.
//
// Clocks only fall from round to round, in steps, so that the iteration ends. An operation keeps
// one clock. Where the mean of a window is above the limit, all operations in it get the highest
// clock with which it is not. Transfers, memory and idle power do not follow the clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/timing/dry_run.h"
#include "predict/machine/machine.h"
#include "predict/simulator/power/power_track.h"
#include "predict/simulator/power/thermal.h"

namespace reprise {

struct PowerOptions {
  // Of each device; nothing, or more than the machine's: the machine's.
  std::optional<double> limit_watts;
  // The step repeats until its temperatures do, and the devices throttle by heat. False: one step,
  // from an idle device in air that nothing has warmed.
  bool until_steady = false;
};

// "500W", "0.5kW", "500": watts. Usage error for anything else.
[[nodiscard]] Result<double> ParsePowerLimit(const std::string& text);

// A device, or a class of them that do the same.
struct PoweredDevice {
  std::int64_t first_rank = 0;  // its number on the machine
  std::int64_t ranks = 1;       // how many devices there are of it
  // The class of the device in front of it; −1: none of the job, an idle one where there is a row
  // in front.
  std::int32_t in_front = -1;
  std::vector<PoweredNode> nodes;
};

struct PowerSample {
  std::int64_t time_ns = 0;
  double joules = 0;  // from the window's begin
  // Means from here to the next sample.
  double watts = 0, hertz = 0;
  double celsius = 0;
};

// From this time on these reasons hold.
struct ThrottleChange {
  std::int64_t time_ns = 0;
  std::uint8_t reasons = 0;
};

// Of one device of a class, over the window.
struct DevicePower {
  double joules = 0, idle_joules = 0;
  std::vector<double> node_joules;        // above idle, parallel to PoweredDevice::nodes
  double mean_watts = 0, peak_watts = 0;  // the peak: as the limit sees it
  PoweredTime peak;
  std::vector<std::uint32_t> peak_nodes;  // of the timing graph; at the peak's highest moment
  std::int64_t throttled_ns = 0, throttled_by_power_ns = 0, throttled_by_heat_ns = 0;
  // Of a machine with temperatures.
  std::optional<double> air_celsius, mean_celsius, max_celsius;
  std::vector<PowerStretch> stretches;  // PowerInput::keep_stretches
  std::vector<PowerSample> samples;     // the last one is at the window's end
  // Every change over the window, from its begin on; likewise.
  std::vector<ThrottleChange> throttling;
};

struct PowerOutcome {
  PoweredTime window;
  double limit_watts = 0;
  std::vector<DevicePower> devices;  // by class
  int rounds = 0;
  bool settled = true;       // false: the rounds ran out
  bool limit_unmet = false;  // some mean is above the limit at the lowest clock
  bool heat_unmet = false;   // some device is too warm at the lowest clock
  [[nodiscard]] double joules(std::span<const PoweredDevice> of) const;  // of all devices
};

inline constexpr int kMaxPowerRounds = 500;
// More changes of power than this become so many equal parts of the window, for the samples only.
inline constexpr std::size_t kMaxPowerSamples = 4000;

struct PowerInput {
  const MachineModel& machine;  // HasPower
  PowerOptions options;
  // False: the times were measured under the device's own limit. Only a lower limit of the options,
  // or heat, changes them; what the model has above the limit is cut.
  bool follows_limit = true;
  bool keep_stretches = false;  // what power is over time, of each device with temperatures
  // Of a transfer, its time without waiting.
  std::function<std::int64_t(std::uint32_t node)> own_ns;
};

// `devices` need their nodes and energies; full_ns is taken from `timing`, whose durations and
// schedule follow the clocks. Nothing changes where no limit is reached. Bad input: a cycle; a
// limit, or temperatures, on a machine without the numbers for it. Usage: a limit that is not above
// the idle power.
[[nodiscard]] Result<PowerOutcome> SettlePower(const PowerInput& input,
                                               std::vector<PoweredDevice>& devices,
                                               TimingGraph& timing, Schedule& schedule);

}  // namespace reprise
