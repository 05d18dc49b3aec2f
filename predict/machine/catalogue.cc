#include "predict/machine/catalogue.h"

#include <algorithm>

#include "predict/machine/described_file.h"
#include "predict/machine/embedded_machines.h"
#include "predict/machine/machine_file.h"

namespace reprise {

std::vector<std::string> MachineNames() { return BuiltInNames(EmbeddedMachines()); }

Result<MachineModel> LoadMachine(const std::string& name_or_path,
                                 const std::vector<std::string>& overrides) {
  REPRISE_ASSIGN(const DescribedText file,
                 ReadBuiltInOrFile(EmbeddedMachines(), name_or_path, kMachineFile));
  return ReadMachine(file.text, file.origin, overrides);
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
