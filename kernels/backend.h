// A backend: one kind of device that kernels run on. Each has a folder below kernels/ and one line
// in backends.def. Adding one: docs/add_a_backend.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "kernels/device.h"

namespace reprise {

// An option of a backend: --<name> on the command line of those commands for which it has a help
// text. Several backends may have the same one.
struct BackendSetting {
  enum class Kind : std::uint8_t {
    kText,
    kTexts,   // may be given several times
    kFlag,    // without a value
    kTuning,  // a tuning file's path; absent: the default file; "none": none. The caller reads it.
  };
  std::string_view name;
  Kind kind = Kind::kText;
  struct Help {
    std::string_view devices, replay, bench, tune;
  };
  Help help = {};
  // It names a library whose kernels are measured beside ours: `bench kernels` gives it to
  // Device::OpenBaselines, and not to Backend::Open.
  bool is_baseline = false;
  // To give it where another backend runs is a usage error; else it is ignored there.
  bool is_error_elsewhere = false;
  // "auto" has the command line look for the library. It looks without being told, too, where the
  // backend has a GPU.
  bool is_looked_for = false;
};

// What a driver search found, for `reprise devices`. Empty for a backend without drivers to choose.
struct Driver {
  std::string library;  // as given to dlopen
  std::string origin;   // the file that registers it, the option that names it, or the vendor
  std::string problem;  // why it can't be loaded; empty: it can
};
struct DriverSearch {
  std::string registry;
  std::vector<Driver> registered;
  std::vector<Driver> named;            // by the user
  std::vector<Driver> found;            // in a usual place, not registered
  bool looked_around = true;            // false: all is registered, or the registry was chosen
  std::vector<std::string> looked_for;  // "NVIDIA libnvidia-opencl.so.1"
  struct Place {
    std::string directory;
    bool exists;
  };
  std::vector<Place> looked_in;
};

// The process' environment, which the caller owns: a driver's loader reads it, so a backend may
// have to change it. One thread at a time.
class ProcessEnvironment {
 public:
  virtual ~ProcessEnvironment() = default;
  // Nothing where the variable is not set.
  [[nodiscard]] virtual std::optional<std::string> Get(const std::string& name) const = 0;
  // Nothing: unset.
  virtual void Set(const std::string& name, const std::optional<std::string>& value) = 0;
};

struct DeviceOptions {
  std::string backend;
  int index = 0;  // into Backend::List()
  // Compiled programs are kept here; empty: no disk cache. Several processes may share it.
  std::string cache_directory = {};
  // Programs that were compiled in advance, as the cache has them; read only. Empty: none.
  std::string compiled_programs = {};
  BackendSettings settings = {};
  // Of any devices: what is another's is left out.
  std::vector<DeviceTuning> tuning = {};
};

// Stateless and thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  // "opencl": for --device, and in "opencl:0" of runs.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // "OpenCL", in sentences.
  [[nodiscard]] virtual std::string_view title() const = 0;
  // One line, for `reprise list backends`.
  [[nodiscard]] virtual std::string_view about() const = 0;
  [[nodiscard]] virtual std::span<const BackendSetting> settings() const { return {}; }
  // True for exactly one backend, which needs no driver and no hardware of its own: it runs where
  // no backend has a GPU, and where nothing is computed.
  [[nodiscard]] virtual bool is_always_there() const { return false; }
  // Its streams can wait for themselves (Stream::Stretch).
  [[nodiscard]] virtual bool stretches_streams() const { return false; }

  // Before any other call in the process that reaches the backend's driver: makes drivers visible
  // that the settings or the environment name.
  [[nodiscard]] virtual Result<DriverSearch> Prepare(const BackendSettings& /*settings*/,
                                                     ProcessEnvironment& /*environment*/) const {
    return DriverSearch{};
  }
  // Every device, in an order that stays. An empty list is no error; a broken driver is
  // (environment).
  [[nodiscard]] virtual Result<std::vector<DeviceInfo>> List() const = 0;
  // Why it should not be taken without being named, although it has a GPU; empty: it may be.
  [[nodiscard]] virtual std::string WhyNotChosen(const BackendSettings& /*settings*/) const {
    return "";
  }
  // For messages where List() found none: what is missing, and what to install.
  [[nodiscard]] virtual std::string WhyNone() const { return ""; }
  // `options.backend` is this one, and settings of others are ignored. Usage error if there is no
  // device of that index; environment error where it can't be opened.
  [[nodiscard]] virtual Result<std::unique_ptr<Device>> Open(
      const DeviceOptions& options) const = 0;
};

// All backends, one line each in backends.def: BACKEND(Name) → std::unique_ptr<Backend>
// MakeNameBackend(). The order is that of preference and of `reprise devices`.
[[nodiscard]] std::span<const std::unique_ptr<Backend>> Backends();
// nullptr if none has the name.
[[nodiscard]] const Backend* FindBackend(std::string_view name);
// The one that is always there.
[[nodiscard]] const Backend& FallbackBackend();
[[nodiscard]] std::vector<std::string> BackendNames();
// Usage error names those that there are.
[[nodiscard]] Result<const Backend*> BackendNamed(const std::string& name);

[[nodiscard]] bool HasSetting(const Backend& backend, std::string_view name);
// "cuda or host": those that have the setting.
[[nodiscard]] std::string BackendsWith(std::string_view setting);

[[nodiscard]] Result<std::vector<DeviceInfo>> ListDevices(const std::string& backend);
// Usage error for settings of another backend (BackendSetting::is_error_elsewhere).
[[nodiscard]] Result<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options);

}  // namespace reprise
