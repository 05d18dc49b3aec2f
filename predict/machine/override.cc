// --set: another value of a machine's number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/nearest.h"
#include "core/shown_text.h"
#include "predict/machine/fields.h"
#include "predict/machine/machine_file.h"

namespace reprise {
namespace {

void Follow(double value, std::string_view what, OptionalNumber& number) {
  if (number) {
    number->value = value;
    number->source = NumberSource::kGiven;
    number->reference = fmt::format("follows from --set {}", what);
  }
}

// Rates are those of the highest clock, and so are energies, which go with the square of the
// voltage (docs/simulation.md, "Power").
void FollowClock(double before_hertz, MachineModel& machine) {
  constexpr std::string_view kWhat = "device.clock.max";
  PowerModel& power = machine.device.power;
  const double clock = power.clock_max_hertz->value / before_hertz;
  const auto scale = [&](auto& formats, double by) {
    for (OptionalNumber& number : formats) {
      Follow(number ? number->value * by : 0, kWhat, number);
    }
  };
  scale(machine.device.matrix_flops_per_second, clock);
  scale(machine.device.vector_flops_per_second, clock);
  if (!power.clock_ridge_hertz || !power.low_voltage) {
    return;
  }
  const double ridge = power.clock_ridge_hertz->value / before_hertz;
  const double low = power.low_voltage->value;
  const double voltage =
      clock <= ridge || ridge >= 1 ? low : low + (1 - low) * (clock - ridge) / (1 - ridge);
  scale(power.matrix_joules_per_flop, voltage * voltage);
  scale(power.vector_joules_per_flop, voltage * voltage);
  Follow(low / voltage, kWhat, power.low_voltage);
  Follow(std::min(power.clock_ridge_hertz->value, power.clock_max_hertz->value), kWhat,
         power.clock_ridge_hertz);
}

// A node of other devices has links and rows of as many as it has.
void FollowNode(double before, MachineModel& machine) {
  constexpr std::string_view kWhat = "node.devices";
  const double devices = machine.node.devices.value;
  const auto spans = [](const LinkLevel& link) { return link.devices ? link.devices->value : 0; };
  // Of one device, or of as many as a level below joins, a link has nothing left to join.
  const bool joined =
      devices < before && std::ranges::find(machine.links, devices, spans) != machine.links.end();
  std::erase_if(machine.links, [&](const LinkLevel& link) {
    return (devices == 1 && spans(link) > 0 && spans(link) <= before) ||
           (joined && spans(link) == before);
  });
  for (LinkLevel& link : machine.links) {
    if (spans(link) == before) {
      Follow(devices, kWhat, link.devices);
    }
  }
  ThermalModel& thermal = machine.device.thermal;
  if (thermal.rows && thermal.row_devices &&
      thermal.rows->value * thermal.row_devices->value == before) {
    if (std::fmod(devices, thermal.rows->value) != 0) {
      Follow(1, kWhat, thermal.rows);
    }
    Follow(devices / thermal.rows->value, kWhat, thermal.row_devices);
  }
}

// What is set for the device, or for a class, stands instead of what its classes, or its types,
// have of their own: a number that is given has an effect.
void FollowEfficiency(std::string_view path, DeviceModel& device) {
  for (ClassEfficiency& of_class : device.classes) {
    const std::string of_device = fmt::format("device.efficiency.{}", Name(of_class.op_class));
    const std::string at = fmt::format("device.classes.{}.", Name(of_class.op_class));
    const bool all_rates = path == of_device;
    const bool all_memory = path == "device.efficiency.memory";
    if (all_rates) {
      of_class.parts.rate.reset();
    }
    if (all_memory) {
      of_class.parts.memory.reset();
    }
    for (ClassEfficiency::OfType& of_type : of_class.types) {
      if (all_rates || path == at + "rate") {
        of_type.parts.rate.reset();
      }
      if (all_memory || path == at + "memory") {
        of_type.parts.memory.reset();
      }
    }
  }
}

}  // namespace

Status Override(MachineModel& machine, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return UsageError(
        fmt::format("--set {}: expected PATH=VALUE, as in "
                    "device.memory.bandwidth=3.35TB/s",
                    ShownText(assignment)));
  }
  const std::string path = assignment.substr(0, equals);
  std::vector<std::string> known;
  for (MachineField& field : FieldsOf(machine)) {
    known.push_back(field.path);
    if (field.path != path) {
      continue;
    }
    const SourcedNumber* const before = field.Present();
    const std::string unit =
        before != nullptr ? before->unit : std::string(BaseUnit(field.dimension));
    const Result<Amount> amount = ParseAmount(assignment.substr(equals + 1), unit);
    if (!amount) {
      return UsageError(fmt::format("--set {}: {}", path, amount.error().message));
    }
    const Result<double> factor = UnitFactor(amount->unit, field.dimension);
    if (!factor) {
      return UsageError(fmt::format("--set {}: {}", path, factor.error().message));
    }
    const double ways = field.counted != nullptr && field.counted->both_ways ? 0.5 : 1;
    const double value = amount->value * *factor * ways;
    if (const Status checked = CheckNumber(field, value); !checked) {
      return UsageError("--set " + checked.error().message);
    }
    const double value_before = before != nullptr ? before->value : 0;
    field.Set({value, amount->unit, NumberSource::kGiven, "--set"});
    if (path == "device.clock.max" && value_before > 0) {
      FollowClock(value_before, machine);
    } else if (path == "node.devices") {
      FollowNode(value_before, machine);
    } else {
      FollowEfficiency(path, machine.device);
    }
    return {};
  }
  return UsageError(
      fmt::format("--set {}: {} has no such number{}; `reprise list machines --json` "
                  "shows all of them",
                  ShownText(path), machine.name, DidYouMean(path, known)));
}

}  // namespace reprise
