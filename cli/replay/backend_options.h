// The backends' own options (BackendSetting) on the command line, and their drivers.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/program/commands.h"
#include "core/result.h"
#include "kernels/backend.h"

namespace reprise {

// What CLI11 writes; must outlive the parse.
class SettingFlags {
 public:
  // The options of all backends for a command, in the backends' order; `command` is the command's
  // member of BackendSetting::Help.
  void AddTo(CLI::App& app, std::string_view BackendSetting::Help::*command);
  // Those that were given.
  [[nodiscard]] BackendSettings Given() const;

 private:
  struct Value {
    std::vector<std::string> texts;
    std::string text;
    bool flag = false;
  };
  std::map<std::string, Value> values_;
};

// The first whose kernels can be tuned: what commands that measure kernels take by default.
[[nodiscard]] std::string TunedBackend();
// --device NAME, one of the backends.
void AddBackendOption(CLI::App& app, std::string& backend);

// Backend::Prepare with this process' environment.
[[nodiscard]] Result<DriverSearch> PrepareDrivers(const Backend& backend,
                                                  const BackendSettings& settings);
// As --tuning: the built-in sizes, without a file.
inline constexpr const char* kNoTuning = "none";
// The tuning file in the cache directory; empty without such a directory.
[[nodiscard]] std::string DefaultTuningPath(const CommandContext& context);
// The file there that keeps which algorithm of collectives was fastest; empty likewise.
[[nodiscard]] std::string MeasuredCollectivesPath(const CommandContext& context);
// The file that the backend's tuning setting names; where it names none, the default file if it
// exists. Empty without a file, and for a backend without such a setting.
[[nodiscard]] Result<std::vector<DeviceTuning>> TuningOf(const Backend& backend,
                                                         const BackendSettings& settings,
                                                         const CommandContext& context);

}  // namespace reprise
