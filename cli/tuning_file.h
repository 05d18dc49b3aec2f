// The file that `reprise tune` writes and that what runs kernels reads (docs/tuning.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/result.h"
#include "kernels/tuning.h"

namespace reprise {

// In place of a file's path: built-in sizes.
inline constexpr const char* kNoTuning = "none";

// `file`: as --tuning has it; empty: the default one, if it is there. Of every device in the file.
// Bad input if it is no tuning file, is of another version or has a tile that its program cannot
// run.
[[nodiscard]] Result<std::vector<DeviceTuning>> ReadTuning(const CommandContext& context,
                                                           const std::string& file);

// In the cache directory; empty if there is none.
[[nodiscard]] std::string DefaultTuningPath(const CommandContext& context);
[[nodiscard]] Result<std::vector<DeviceTuning>> ReadTuningFile(const std::string& path);
[[nodiscard]] Result<std::vector<DeviceTuning>> ParseTuning(const std::string& text,
                                                            const std::string& name);
[[nodiscard]] nlohmann::ordered_json TuningJson(const std::vector<DeviceTuning>& devices);
// `measured` put in place of what `devices` has of the same device, driver and kinds.
void MergeTuning(const DeviceTuning& measured, std::vector<DeviceTuning>& devices);

}  // namespace reprise
