#include "cli/replay/backend_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "kernels/bench/tuning_file.h"

namespace reprise {
namespace {

class OwnEnvironment final : public ProcessEnvironment {
 public:
  [[nodiscard]] std::optional<std::string> Get(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  void Set(const std::string& name, const std::optional<std::string>& value) override {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
};

// `file` is what --tuning names. Empty: the default file, if it exists.
Result<std::vector<DeviceTuning>> ReadTuning(const CommandContext& context,
                                             const std::string& file) {
  if (file == kNoTuning) {
    return std::vector<DeviceTuning>();
  }
  if (!file.empty()) {
    return ReadTuningFile(file);
  }
  const std::string path = DefaultTuningPath(context);
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) {
    return std::vector<DeviceTuning>();
  }
  return ReadTuningFile(path);
}

}  // namespace

void SettingFlags::AddTo(CLI::App& app, std::string_view BackendSetting::Help::*command) {
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    for (const BackendSetting& setting : backend->settings()) {
      const std::string help(setting.help.*command);
      if (help.empty() || values_.find(std::string(setting.name)) != values_.end()) {
        continue;  // or it is another backend's, too
      }
      const std::string option = fmt::format("--{}", setting.name);
      Value& value = values_[std::string(setting.name)];
      switch (setting.kind) {
        case BackendSetting::Kind::kText:
        case BackendSetting::Kind::kTuning:
          app.add_option(option, value.text, help);
          break;
        case BackendSetting::Kind::kTexts:
          app.add_option(option, value.texts, help)
              ->expected(1)
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
          break;
        case BackendSetting::Kind::kFlag:
          app.add_flag(option, value.flag, help);
          break;
      }
    }
  }
}

BackendSettings SettingFlags::Given() const {
  BackendSettings given;
  for (const auto& [name, value] : values_) {
    for (const std::string& text : value.texts) {
      given.Add(name, text);
    }
    given.Add(name, value.text);
    given.Add(name, value.flag ? "true" : "");
  }
  return given;
}

std::string TunedBackend() {
  const auto backends = Backends();
  const auto tuned = std::ranges::find_if(backends, [](const std::unique_ptr<Backend>& backend) {
    return std::ranges::any_of(backend->settings(), [](const BackendSetting& setting) {
      return setting.kind == BackendSetting::Kind::kTuning;
    });
  });
  return std::string((tuned == backends.end() ? backends.front() : *tuned)->name());
}

void AddBackendOption(CLI::App& app, std::string& backend) {
  app.add_option("--device", backend, fmt::format("{}", fmt::join(BackendNames(), " or ")))
      ->check(CLI::IsMember(BackendNames()))
      ->capture_default_str();
}

Result<DriverSearch> PrepareDrivers(const Backend& backend, const BackendSettings& settings) {
  OwnEnvironment environment;
  return backend.Prepare(settings, environment);
}

std::string DefaultTuningPath(const CommandContext& context) {
  return context.cache_directory.empty() ? "" : context.cache_directory + "/tuning.json";
}

std::string MeasuredCollectivesPath(const CommandContext& context) {
  return context.cache_directory.empty() ? "" : context.cache_directory + "/collectives.json";
}

Result<std::vector<DeviceTuning>> TuningOf(const Backend& backend, const BackendSettings& settings,
                                           const CommandContext& context) {
  for (const BackendSetting& setting : backend.settings()) {
    if (setting.kind == BackendSetting::Kind::kTuning) {
      return ReadTuning(context, settings.Text(setting.name));
    }
  }
  return std::vector<DeviceTuning>();
}

}  // namespace reprise
