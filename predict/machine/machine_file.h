// Reads and writes machine files (docs/machine_format.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/machine/machine.h"

namespace reprise {

inline constexpr char kMachineFormat[] = "reprise-machine";
inline constexpr int kMachineVersion = 1;

// `origin` is what messages begin with: the file. `overrides`: "PATH=VALUE" of --set, applied
// before the numbers are checked against each other. Bad input, with file and path: text that is no
// JSON, a key that does not exist (the nearest is named) or stands twice, a number without unit,
// source or reference, of another dimension or out of range, numbers that contradict each other. A
// usage error for an override.
[[nodiscard]] Result<MachineModel> ReadMachine(std::string_view text, const std::string& origin,
                                               const std::vector<std::string>& overrides = {});

// The file's form again, with every default spelt out.
[[nodiscard]] nlohmann::ordered_json ToJson(const MachineModel& machine);

// What contradicts what (docs/machine_format.md, "Checks"); `origin` as above.
[[nodiscard]] Status CheckMachine(const MachineModel& machine, const std::string& origin);

// One "PATH=VALUE" of --set. The value may carry a unit; without, it is in the unit that the number
// has now. Bandwidths of links stay per device or node and one way or both, as they are.
[[nodiscard]] Status Override(MachineModel& machine, const std::string& assignment);

}  // namespace reprise
