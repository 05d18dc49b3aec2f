// What the numbers of a machine must not say together.
#include <fmt/format.h>

#include <algorithm>

#include "predict/machine/machine_file.h"

namespace reprise {
namespace {

const OptionalNumber& RateOf(const DeviceModel& device, bool matrix, RateFormat format) {
  return (matrix ? device.matrix_flops_per_second
                 : device.vector_flops_per_second)[static_cast<std::size_t>(format)];
}

// No device computes wider floating-point numbers faster: where a file says so, one of the two is
// sparse or is another device's.
Status CheckRates(const MachineModel& machine) {
  const DeviceModel& device = machine.device;
  if (!RateOf(device, false, RateFormat::kFloat32)) {
    return BadInput("device.vector.float32 is missing; every operation but products needs it");
  }
  constexpr std::pair<RateFormat, RateFormat> kWider[] = {
      {RateFormat::kFloat64, RateFormat::kFloat32}, {RateFormat::kFloat32, RateFormat::kTf32},
      {RateFormat::kFloat32, RateFormat::kFloat16}, {RateFormat::kFloat32, RateFormat::kBFloat16},
      {RateFormat::kTf32, RateFormat::kFloat16},    {RateFormat::kTf32, RateFormat::kBFloat16},
      {RateFormat::kFloat16, RateFormat::kFloat8},  {RateFormat::kFloat8, RateFormat::kFloat4},
  };
  for (const auto& [wide, narrow] : kWider) {
    for (const bool matrix : {true, false}) {
      const OptionalNumber& slow = RateOf(device, matrix, wide);
      const OptionalNumber& fast = RateOf(device, matrix, narrow);
      if (slow && fast && slow->value > fast->value) {
        return BadInput(fmt::format(
            "device.{0}.{1} ({2:g} FLOP/s) is more than device.{0}.{3} ({4:g} FLOP/s): no device "
            "computes wider numbers faster; is one of the two with sparsity?",
            matrix ? "matrix" : "vector", Name(wide), slow->value, Name(narrow), fast->value));
      }
    }
  }
  for (std::size_t i = 0; i < kRateFormats; ++i) {
    const auto format = static_cast<RateFormat>(i);
    const OptionalNumber& matrix = RateOf(device, true, format);
    const OptionalNumber& vector = RateOf(device, false, format);
    if (matrix && vector && matrix->value < vector->value) {
      return BadInput(
          fmt::format("device.matrix.{0} ({1:g} FLOP/s) is less than device.vector.{0} ({2:g} "
                      "FLOP/s): matrix "
                      "units slower than the others are of no use; are the two exchanged?",
                      Name(format), matrix->value, vector->value));
    }
  }
  return {};
}

Status CheckPower(const MachineModel& machine) {
  const OptionalNumber& idle = machine.device.power.idle_watts;
  const OptionalNumber& limit = machine.device.power.limit_watts;
  if (machine.device.power.limit_window_ns && !limit) {
    return BadInput("device.power.limit_window needs device.power.limit");
  }
  if (idle && limit && idle->value >= limit->value) {
    return BadInput(
        fmt::format("device.power.idle ({:g} W) is not below device.power.limit ({:g} W)",
                    idle->value, limit->value));
  }
  return {};
}

// A part of what a model needs is of no use: the file is refused where it is noticed, not where a
// simulation misses the rest.
Status CheckPowerParts(const MachineModel& machine) {
  const DeviceModel& device = machine.device;
  const PowerModel& power = device.power;
  const auto there = [](const OptionalNumber& number) { return number.has_value(); };
  const bool energies = power.memory_joules_per_byte ||
                        std::ranges::any_of(power.matrix_joules_per_flop, there) ||
                        std::ranges::any_of(power.vector_joules_per_flop, there);
  if (energies && !HasPower(device)) {
    return BadInput(
        "device.power is not complete; modelled power needs device.power.idle, .limit, .memory "
        "and .vector.float32");
  }
  const bool clocks = power.clock_max_hertz || power.clock_min_hertz || power.clock_ridge_hertz ||
                      power.clock_step_hertz || power.low_voltage;
  if (clocks && !HasClockCurve(device)) {
    return BadInput(
        "device.clock is not complete; the clock under a power limit needs device.clock.min, "
        ".ridge, .max, .step, device.power.low_voltage and the energies of device.power");
  }
  if (clocks && (power.clock_min_hertz->value > power.clock_max_hertz->value ||
                 power.clock_ridge_hertz->value > power.clock_max_hertz->value ||
                 power.clock_step_hertz->value > power.clock_max_hertz->value)) {
    return BadInput("device.clock.min, .ridge or .step is above device.clock.max");
  }
  return {};
}

Status CheckThermal(const MachineModel& machine) {
  const ThermalModel& thermal = machine.device.thermal;
  const bool slots = thermal.rows || thermal.row_devices || thermal.preheat_kelvin_per_watt;
  const bool any = thermal.kelvin_per_watt || thermal.joules_per_kelvin || thermal.inlet_celsius ||
                   thermal.throttle_celsius || slots;
  if (any && !HasThermal(machine.device)) {
    return BadInput(
        "device.thermal is not complete; temperatures need device.thermal.resistance, .capacity, "
        ".inlet, .throttle and the energies of device.power");
  }
  if (slots && !(thermal.rows && thermal.row_devices && thermal.preheat_kelvin_per_watt)) {
    return BadInput(
        "device.thermal.rows, .row_devices and .preheat belong together; expected all three");
  }
  if (any && thermal.inlet_celsius->value >= thermal.throttle_celsius->value) {
    return BadInput(
        fmt::format("device.thermal.inlet ({:g} C) is not below device.thermal.throttle ({:g} C)",
                    thermal.inlet_celsius->value, thermal.throttle_celsius->value));
  }
  if (slots) {
    const auto devices = static_cast<std::int64_t>(machine.node.devices.value);
    const auto together =
        static_cast<std::int64_t>(thermal.rows->value * thermal.row_devices->value);
    if (devices % together != 0) {
      return BadInput(fmt::format(
          "device.thermal.rows x .row_devices is {}, which does not divide node.devices ({})",
          together, devices));
    }
  }
  return {};
}

Status CheckLink(const MachineModel& machine, std::size_t level) {
  const LinkLevel& link = machine.links[level];
  if (link.bytes_per_second.has_value() == link.oversubscription.has_value()) {
    return BadInput(fmt::format(
        "links.{}: expected exactly one of bandwidth and oversubscription: each follows from the "
        "other",
        link.name));
  }
  if (link.oversubscription && level == 0) {
    return BadInput(
        fmt::format("links.{}.oversubscription: the innermost link has no level below "
                    "it; give its bandwidth",
                    link.name));
  }
  if (link.short_latency_ns && link.short_latency_ns->value > link.latency_ns.value) {
    return BadInput(
        fmt::format("links.{0}.short_latency ({1:g} ns) is more than links.{0}.latency "
                    "({2:g} ns)",
                    link.name, link.short_latency_ns->value, link.latency_ns.value));
  }
  if (link.in_switch.has_value() != link.in_switch_latency_ns.has_value()) {
    return BadInput(fmt::format(
        "links.{0}.in_switch and links.{0}.in_switch_latency belong together; expected both",
        link.name));
  }
  if (link.job_devices) {
    const auto taken = static_cast<std::int64_t>(link.job_devices->value);
    const std::int64_t below = machine.DomainDevices(level);
    const bool last_with_domains =
        level + 1 == machine.links.size() || machine.links[level + 1].spans() == 0;
    if (!last_with_domains || taken > link.spans() || taken <= below || taken % below != 0) {
      return BadInput(
          fmt::format("links.{}.job_devices is {}; expected a multiple of {} (devices of the level "
                      "below) that is at most {} (devices of this level), on the last level that "
                      "names its devices",
                      link.name, taken, below, link.spans()));
    }
  }
  if (link.in_switch && level > 0) {
    return BadInput(fmt::format(
        "links.{}.in_switch: only switches of the innermost link are modelled as adding",
        link.name));
  }
  if (link.per == BandwidthPer::kNode && link.spans() != 0 &&
      link.spans() <= static_cast<std::int64_t>(machine.node.devices.value)) {
    return BadInput(
        fmt::format("links.{}.bandwidth is per node, but the link lies inside a node: "
                    "give it per device",
                    link.name));
  }
  if (level == 0 && link.per == BandwidthPer::kDevice &&
      link.bytes_per_second->value > machine.device.memory_bytes_per_second.value) {
    return BadInput(fmt::format(
        "links.{}.bandwidth ({:g} B/s one way) is more than device.memory.bandwidth ({:g} B/s), "
        "which it is read from; is it of the whole node, or in bits?",
        link.name, link.bytes_per_second->value, machine.device.memory_bytes_per_second.value));
  }
  return {};
}

// Domains nest.
Status CheckLevel(const MachineModel& machine, std::size_t level) {
  const LinkLevel& link = machine.links[level];
  if (level == 0) {
    return link.spans() == 1
               ? BadInput(fmt::format("links.{}.devices is 1: it joins nothing", link.name))
               : Status{};
  }
  const LinkLevel& below = machine.links[level - 1];
  if (below.spans() == 0 || below.spans() == link.spans()) {
    return BadInput(
        fmt::format("links.{} and links.{} span the same devices; expected one link for "
                    "each level",
                    below.name, link.name));
  }
  if (link.spans() != 0 && link.spans() % below.spans() != 0) {
    return BadInput(
        fmt::format("links.{}.devices ({}) is no multiple of links.{}.devices ({}): "
                    "domains nest",
                    link.name, link.spans(), below.name, below.spans()));
  }
  return {};
}

Status CheckNodes(const MachineModel& machine) {
  const auto devices = static_cast<std::int64_t>(machine.node.devices.value);
  for (const LinkLevel& link : machine.links) {
    if (link.spans() != 0 && link.spans() % devices != 0 && devices % link.spans() != 0) {
      return BadInput(fmt::format("links.{}.devices ({}) and node.devices ({}) do not nest",
                                  link.name, link.spans(), devices));
    }
  }
  if (machine.links.empty() && machine.node.devices.value > 1) {
    return BadInput(
        fmt::format("node.devices is {}, and no link joins them; expected one in links", devices));
  }
  return {};
}

Status CheckTogether(const MachineModel& machine) {
  REPRISE_TRY(CheckRates(machine));
  REPRISE_TRY(CheckPower(machine));
  REPRISE_TRY(CheckPowerParts(machine));
  REPRISE_TRY(CheckThermal(machine));
  for (std::size_t level = 0; level < machine.links.size(); ++level) {
    REPRISE_TRY(CheckLink(machine, level));
    REPRISE_TRY(CheckLevel(machine, level));
  }
  return CheckNodes(machine);
}

}  // namespace

Status CheckMachine(const MachineModel& machine, const std::string& origin) {
  const Status sound = CheckTogether(machine);
  return sound ? sound : BadInput(fmt::format("{}: {}", origin, sound.error().message));
}

}  // namespace reprise
