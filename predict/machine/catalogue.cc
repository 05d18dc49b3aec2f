#include "predict/machine/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/input_file.h"
#include "core/nearest.h"
#include "core/shown_text.h"
#include "predict/machine/embedded_machines.h"
#include "predict/machine/machine_file.h"

namespace reprise {
namespace {

constexpr std::string_view kEnding = ".json";

std::string_view NameOf(const EmbeddedFile& machine) {
  return machine.name.substr(0, machine.name.size() - kEnding.size());
}

}  // namespace

std::vector<std::string> MachineNames() {
  std::vector<std::string> names;
  for (const EmbeddedFile& machine : EmbeddedMachines()) {
    names.emplace_back(NameOf(machine));
  }
  std::ranges::sort(names);
  return names;
}

Result<MachineModel> LoadMachine(const std::string& name_or_path,
                                 const std::vector<std::string>& overrides) {
  for (const EmbeddedFile& machine : EmbeddedMachines()) {
    if (NameOf(machine) == name_or_path) {
      return ReadMachine(machine.text, fmt::format("{} (built in)", machine.name), overrides);
    }
  }
  if (name_or_path.find('/') == std::string::npos && !name_or_path.ends_with(kEnding)) {
    const std::string hint = NameHint(name_or_path, MachineNames());
    return BadInput(fmt::format(
        "no machine '{}'{} `reprise list machines` lists them, and a file of your own ends in "
        ".json (docs/machine_format.md)",
        ShownText(name_or_path), hint.empty() ? ";" : hint));
  }
  if (std::error_code error; !std::filesystem::exists(name_or_path, error)) {
    return BadInput(fmt::format(
        "{}: no such file; expected a machine file (docs/machine_format.md), or a name that "
        "`reprise list machines` lists",
        ShownText(name_or_path)));
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(name_or_path, std::uint64_t{4} << 20));
  return ReadMachine(text, name_or_path, overrides);
}

std::vector<std::string> MachinesOfDevice(std::string_view recorded_device) {
  std::vector<std::string> names;
  for (const std::string& name : MachineNames()) {
    const Result<MachineModel> machine = LoadMachine(name);
    if (machine && IsRecordedAs(machine->device, recorded_device)) {
      names.push_back(name);
    }
  }
  return names;
}

bool IsRecordedAs(const DeviceModel& device, std::string_view recorded_device) {
  return std::ranges::any_of(device.recorded_as, [recorded_device](const std::string& name) {
    return recorded_device.find(name) != std::string_view::npos;
  });
}

}  // namespace reprise
