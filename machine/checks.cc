// What the numbers of a machine must not say together.
#include <fmt/format.h>

#include <algorithm>

#include "machine/machine_file.h"

namespace reprise {
namespace {

class MachineChecks {
 public:
  MachineChecks(const MachineModel& machine, const std::string& origin)
      : machine_(machine), origin_(origin) {}

  Status Run() {
    REPRISE_TRY(CheckRates());
    REPRISE_TRY(CheckPower());
    REPRISE_TRY(CheckPowerParts());
    REPRISE_TRY(CheckThermal());
    for (std::size_t level = 0; level < machine_.links.size(); ++level) {
      REPRISE_TRY(CheckLink(level));
      REPRISE_TRY(CheckLevel(level));
    }
    return CheckNodes();
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Wrong(const std::string& what) const {
    return BadInput(fmt::format("{}: {}", origin_, what));
  }

  [[nodiscard]] const OptionalNumber& Matrix(RateFormat format) const {
    return machine_.device.matrix_flops_per_second[static_cast<std::size_t>(format)];
  }
  [[nodiscard]] const OptionalNumber& Vector(RateFormat format) const {
    return machine_.device.vector_flops_per_second[static_cast<std::size_t>(format)];
  }

  // No device computes wider numbers faster: where a file says so, one of the two is sparse or is
  // another device's.
  Status CheckRates() const {
    if (!Vector(RateFormat::kFloat32)) {
      return Wrong("device.vector.float32 is missing; every operation but products needs it");
    }
    constexpr std::pair<RateFormat, RateFormat> kWider[] = {
        {RateFormat::kFloat64, RateFormat::kFloat32}, {RateFormat::kFloat32, RateFormat::kTf32},
        {RateFormat::kFloat32, RateFormat::kFloat16}, {RateFormat::kFloat32, RateFormat::kBFloat16},
        {RateFormat::kTf32, RateFormat::kFloat16},    {RateFormat::kTf32, RateFormat::kBFloat16},
        {RateFormat::kFloat16, RateFormat::kFloat8},  {RateFormat::kFloat16, RateFormat::kInt8},
    };
    for (const auto& [wide, narrow] : kWider) {
      for (const bool matrix : {true, false}) {
        const OptionalNumber& slow = matrix ? Matrix(wide) : Vector(wide);
        const OptionalNumber& fast = matrix ? Matrix(narrow) : Vector(narrow);
        if (slow && fast && slow->value > fast->value) {
          return Wrong(fmt::format(
              "device.{0}.{1} ({2:g} FLOP/s) is more than device.{0}.{3} ({4:g} FLOP/s): no device "
              "computes wider numbers faster; is one of the two with sparsity?",
              matrix ? "matrix" : "vector", Name(wide), slow->value, Name(narrow), fast->value));
        }
      }
    }
    for (std::size_t i = 0; i < kRateFormats; ++i) {
      const auto format = static_cast<RateFormat>(i);
      if (Matrix(format) && Vector(format) && Matrix(format)->value < Vector(format)->value) {
        return Wrong(
            fmt::format("device.matrix.{0} ({1:g} FLOP/s) is less than device.vector.{0} ({2:g} "
                        "FLOP/s): matrix "
                        "units slower than the others are of no use; are the two exchanged?",
                        Name(format), Matrix(format)->value, Vector(format)->value));
      }
    }
    return {};
  }

  Status CheckPower() const {
    const OptionalNumber& idle = machine_.device.power.idle_watts;
    const OptionalNumber& limit = machine_.device.power.limit_watts;
    if (idle && limit && idle->value >= limit->value) {
      return Wrong(
          fmt::format("device.power.idle ({:g} W) is not below device.power.limit ({:g} W)",
                      idle->value, limit->value));
    }
    return {};
  }

  // A part of what a model needs is of no use: the file is refused where it is noticed, not where a
  // simulation misses the rest.
  Status CheckPowerParts() const {
    const DeviceModel& device = machine_.device;
    const PowerModel& power = device.power;
    const auto there = [](const OptionalNumber& number) { return number.has_value(); };
    const bool energies = power.memory_joules_per_byte ||
                          std::ranges::any_of(power.matrix_joules_per_flop, there) ||
                          std::ranges::any_of(power.vector_joules_per_flop, there);
    if (energies && !HasPower(device)) {
      return Wrong(
          "device.power is not complete; modelled power needs device.power.idle, .limit, .memory "
          "and .vector.float32");
    }
    const bool clocks = power.clock_max_hertz || power.clock_min_hertz || power.clock_ridge_hertz ||
                        power.clock_step_hertz || power.low_voltage;
    if (clocks && !HasClockCurve(device)) {
      return Wrong(
          "device.clock is not complete; the clock under a power limit needs device.clock.min, "
          ".ridge, .max, .step, device.power.low_voltage and the energies of device.power");
    }
    if (clocks && (power.clock_min_hertz->value > power.clock_max_hertz->value ||
                   power.clock_ridge_hertz->value > power.clock_max_hertz->value ||
                   power.clock_step_hertz->value > power.clock_max_hertz->value)) {
      return Wrong("device.clock.min, .ridge or .step is above device.clock.max");
    }
    return {};
  }

  Status CheckThermal() const {
    const ThermalModel& thermal = machine_.device.thermal;
    const bool slots = thermal.rows || thermal.row_devices || thermal.preheat_kelvin_per_watt;
    const bool any = thermal.kelvin_per_watt || thermal.joules_per_kelvin ||
                     thermal.inlet_celsius || thermal.throttle_celsius || slots;
    if (any && !HasThermal(machine_.device)) {
      return Wrong(
          "device.thermal is not complete; temperatures need device.thermal.resistance, .capacity, "
          ".inlet, .throttle and the energies of device.power");
    }
    if (slots && !(thermal.rows && thermal.row_devices && thermal.preheat_kelvin_per_watt)) {
      return Wrong(
          "device.thermal.rows, .row_devices and .preheat belong together; expected all three");
    }
    if (any && thermal.inlet_celsius->value >= thermal.throttle_celsius->value) {
      return Wrong(
          fmt::format("device.thermal.inlet ({:g} C) is not below device.thermal.throttle ({:g} C)",
                      thermal.inlet_celsius->value, thermal.throttle_celsius->value));
    }
    if (slots) {
      const auto devices = static_cast<std::int64_t>(machine_.node.devices.value);
      const auto together =
          static_cast<std::int64_t>(thermal.rows->value * thermal.row_devices->value);
      if (devices % together != 0) {
        return Wrong(fmt::format(
            "device.thermal.rows x .row_devices is {}, which does not divide node.devices ({})",
            together, devices));
      }
    }
    return {};
  }

  Status CheckLink(std::size_t level) const {
    const LinkLevel& link = machine_.links[level];
    if (link.bytes_per_second.has_value() == link.oversubscription.has_value()) {
      return Wrong(fmt::format(
          "links.{}: expected exactly one of bandwidth and oversubscription: each follows from the "
          "other",
          link.name));
    }
    if (link.oversubscription && level == 0) {
      return Wrong(
          fmt::format("links.{}.oversubscription: the innermost link has no level below "
                      "it; give its bandwidth",
                      link.name));
    }
    if (link.short_latency_ns && link.short_latency_ns->value > link.latency_ns.value) {
      return Wrong(
          fmt::format("links.{0}.short_latency ({1:g} ns) is more than links.{0}.latency "
                      "({2:g} ns)",
                      link.name, link.short_latency_ns->value, link.latency_ns.value));
    }
    if (link.per == BandwidthPer::kNode && link.spans() != 0 &&
        link.spans() <= static_cast<std::int64_t>(machine_.node.devices.value)) {
      return Wrong(
          fmt::format("links.{}.bandwidth is per node, but the link lies inside a node: "
                      "give it per device",
                      link.name));
    }
    if (level == 0 && link.per == BandwidthPer::kDevice &&
        link.bytes_per_second->value > machine_.device.memory_bytes_per_second.value) {
      return Wrong(fmt::format(
          "links.{}.bandwidth ({:g} B/s one way) is more than device.memory.bandwidth ({:g} B/s), "
          "which it is read from; is it of the whole node, or in bits?",
          link.name, link.bytes_per_second->value, machine_.device.memory_bytes_per_second.value));
    }
    return {};
  }

  // Domains nest.
  Status CheckLevel(std::size_t level) const {
    const LinkLevel& link = machine_.links[level];
    if (level == 0) {
      return link.spans() == 1
                 ? Wrong(fmt::format("links.{}.devices is 1: it joins nothing", link.name))
                 : Status{};
    }
    const LinkLevel& below = machine_.links[level - 1];
    if (below.spans() == 0 || below.spans() == link.spans()) {
      return Wrong(
          fmt::format("links.{} and links.{} span the same devices; expected one link for "
                      "each level",
                      below.name, link.name));
    }
    if (link.spans() != 0 && link.spans() % below.spans() != 0) {
      return Wrong(
          fmt::format("links.{}.devices ({}) is no multiple of links.{}.devices ({}): "
                      "domains nest",
                      link.name, link.spans(), below.name, below.spans()));
    }
    return {};
  }

  Status CheckNodes() const {
    const auto devices = static_cast<std::int64_t>(machine_.node.devices.value);
    for (const LinkLevel& link : machine_.links) {
      if (link.spans() != 0 && link.spans() % devices != 0 && devices % link.spans() != 0) {
        return Wrong(fmt::format("links.{}.devices ({}) and node.devices ({}) do not nest",
                                 link.name, link.spans(), devices));
      }
    }
    if (machine_.links.empty() && machine_.node.devices.value > 1) {
      return Wrong(fmt::format("node.devices is {}, and no link joins them; expected one in links",
                               devices));
    }
    return {};
  }

  const MachineModel& machine_;
  const std::string& origin_;
};

}  // namespace

Status CheckMachine(const MachineModel& machine, const std::string& origin) {
  return MachineChecks(machine, origin).Run();
}

}  // namespace reprise
