// The file that `reprise tune` writes and that what runs kernels reads (docs/tuning.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "kernels/tuning.h"

namespace reprise {

// Of every device in the file. Bad input if it is no tuning file, is of another version or has a
// tile that its program cannot run.
[[nodiscard]] Result<std::vector<DeviceTuning>> ReadTuningFile(const std::string& path);
[[nodiscard]] Result<std::vector<DeviceTuning>> ParseTuning(const std::string& text,
                                                            const std::string& name);
[[nodiscard]] nlohmann::ordered_json TuningJson(const std::vector<DeviceTuning>& devices);
// `measured` put in place of what `devices` has of the same device, driver and kinds.
void MergeTuning(const DeviceTuning& measured, std::vector<DeviceTuning>& devices);

}  // namespace reprise
