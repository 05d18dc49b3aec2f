// The machines that the program knows by name: predict/machine/data/*.json, embedded when it is
// built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/machine/machine.h"

namespace reprise {

// By name.
[[nodiscard]] std::vector<std::string> MachineNames();

// A built-in machine by name, or a file: what has a '/' or ends in ".json" is a path. Bad input for
// an unknown name (the nearest is named) and for whatever is wrong with the file. `overrides` as in
// machine_file.h.
[[nodiscard]] Result<MachineModel> LoadMachine(const std::string& name_or_path,
                                               const std::vector<std::string>& overrides = {});

// The built-in machine whose device a capture names, "NVIDIA H100 80GB HBM3"; of several machines
// with the same device the first by name. Nothing: none.
[[nodiscard]] std::vector<std::string> MachinesOfDevice(std::string_view recorded_device);

// Whether a capture's device is of this machine.
[[nodiscard]] bool IsRecordedAs(const DeviceModel& device, std::string_view recorded_device);

}  // namespace reprise
