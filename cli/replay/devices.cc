// reprise devices: what kernels can run on here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/program/commands.h"
#include "cli/program/sampling_flags.h"
#include "cli/program/show_json.h"
#include "cli/program/version.h"
#include "cli/replay/backend_options.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "kernels/backend.h"

namespace reprise {

inline void to_json(Json& json, const Driver& driver) {
  REPRISE_ADD_FIELDS(json, driver, library, origin)
  json["problem"] = NullIfEmpty(driver.problem);
}
REPRISE_JSON_FIELDS(DriverSearch::Place, directory, exists)
REPRISE_JSON_FIELDS(DriverSearch, registry, registered, named, found, looked_for, looked_in)

namespace {

struct FoundBackend {
  const Backend* backend = nullptr;
  DriverSearch drivers;
  std::vector<DeviceInfo> devices;
  std::string why_none;  // set if there are no devices
};

// A backend that fails is as good as one without devices: the others still count.
FoundBackend Look(const Backend& backend, DriverSearch drivers) {
  FoundBackend found{.backend = &backend, .drivers = std::move(drivers)};
  Result<std::vector<DeviceInfo>> devices = backend.List();
  if (!devices) {
    found.why_none = devices.error().message;
    return found;
  }
  found.devices = std::move(*devices);
  if (found.devices.empty()) {
    found.why_none = backend.WhyNone();
  }
  return found;
}

// Whether the backend has drivers to look for at all.
bool LooksForDrivers(const DriverSearch& search) { return !search.registry.empty(); }

// "8.0"; empty where there is none.
std::string Capability(const DeviceInfo& info) {
  return info.compute_capability == 0
             ? ""
             : fmt::format("{}.{}", info.compute_capability / 10, info.compute_capability % 10);
}
// What telemetry reads of the same device: "nvml gpu-0000:01:00.0", …
std::vector<std::string> MetersOf(const DeviceInfo& info,
                                  const std::vector<MeteredDevice>& meters) {
  std::vector<std::string> found;
  for (const MeteredDevice& meter : meters) {
    if (IsMeterOf(meter, info.uuid, info.pci_bus_id)) {
      found.push_back(meter.source + " " + meter.device);
    }
  }
  return found;
}

Json ToJson(const DeviceInfo& info, std::size_t index, const std::vector<MeteredDevice>& meters) {
  Json json = {{"backend", info.backend}, {"index", index}};
  REPRISE_ADD_FIELDS(json, info, name, vendor, platform, driver, version, pci_bus_id, uuid)
  json["meters"] = MetersOf(info, meters);
  json["compute_capability"] = NullIfEmpty(Capability(info));
  REPRISE_ADD_FIELDS(json, info, compute_units, memory_bytes, max_allocation_bytes,
                     max_work_group_size, is_cpu, fp16, fp64)
  return json;
}

void PrintJson(const std::vector<FoundBackend>& backends,
               const std::vector<MeteredDevice>& meters) {
  Json json = {{"devices", Json::array()}, {"unavailable", Json::object()}};
  for (const FoundBackend& found : backends) {
    const std::string name(found.backend->name());
    for (std::size_t i = 0; i < found.devices.size(); ++i) {
      json["devices"].push_back(ToJson(found.devices[i], i, meters));
    }
    if (found.devices.empty()) {
      json["unavailable"][name] = found.why_none;
    }
    if (LooksForDrivers(found.drivers)) {
      json[name + "_drivers"] = found.drivers;
    }
  }
  ShowJson(json, 2);
}

void PrintDevice(const DeviceInfo& info, std::size_t index,
                 const std::vector<MeteredDevice>& meters) {
  fmt::print("{}:{}  {}\n", info.backend, index, ShownText(info.name));
  const auto field = [](std::string_view name, const std::string& value) {
    if (!value.empty()) {
      fmt::print("    {:<14} {}\n", name, ShownText(value));
    }
  };
  field("platform", info.platform);
  field("version", info.version);
  field("driver", info.driver);
  field("pci bus id", info.pci_bus_id);
  field("uuid", info.uuid);
  field("meters", fmt::format("{}", fmt::join(MetersOf(info, meters), ", ")));
  field("capability", Capability(info));
  field("compute units", std::to_string(info.compute_units));
  field("memory", fmt::format("{:.1f} GB", static_cast<double>(info.memory_bytes) / 1e9));
  field("arithmetic", fmt::format("float32{}{}; kernels compute float16 and bfloat16 in float32",
                                  info.fp64 ? ", float64" : "", info.fp16 ? ", float16" : ""));
}

void PrintDrivers(std::string_view what, const std::vector<Driver>& icds) {
  for (const Driver& icd : icds) {
    fmt::print("    {:<14} {} ({}){}{}\n", what, ShownText(icd.library), ShownText(icd.origin),
               icd.problem.empty() ? "" : ": ", ShownText(icd.problem));
  }
}

void PrintDrivers(std::string_view title, const DriverSearch& search) {
  fmt::print("{} drivers\n", title);
  PrintDrivers("registered", search.registered);
  if (search.registered.empty()) {
    fmt::print("    {:<14} none, in {}\n", "registered", ShownText(search.registry));
  }
  PrintDrivers("named", search.named);
  PrintDrivers("found", search.found);
  if (search.looked_around) {
    fmt::print("    {:<14} {}\n", "looked for", fmt::join(search.looked_for, ", "));
    for (const bool exists : {true, false}) {
      std::vector<std::string> places;
      for (const DriverSearch::Place& place : search.looked_in) {
        if (place.exists == exists) {
          places.push_back(place.directory);
        }
      }
      fmt::print("    {:<14} {}\n", exists ? "in" : "not here",
                 ShownText(fmt::format("{}", fmt::join(places, ", "))));
    }
  } else {
    fmt::print("    {:<14} nothing else, for {} was chosen\n", "looked for",
               ShownText(search.registry));
  }
}

}  // namespace

CommandBody RegisterDevices(CLI::App& app, const CommandContext& /*context*/) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "machine-readable output");
  auto settings = std::make_shared<SettingFlags>();
  settings->AddTo(app, &BackendSetting::Help::devices);
  auto sources = std::make_shared<SamplingFlags>();
  AddSourceFlags(app, *sources);
  return [json, settings, sources]() -> Result<int> {
    REPRISE_ASSIGN(const SamplerOptions options, InterpretSampling(*sources));
    std::vector<FoundBackend> backends;
    for (const std::unique_ptr<Backend>& backend : Backends()) {
      REPRISE_ASSIGN(DriverSearch drivers, PrepareDrivers(*backend, settings->Given()));
      backends.push_back(Look(*backend, std::move(drivers)));
    }
    const std::vector<MeteredDevice> meters =
        Sampler::Open({.sources = options.sources})->devices();
    if (*json) {
      PrintJson(backends, meters);
      return 0;
    }
    for (const FoundBackend& found : backends) {
      for (std::size_t i = 0; i < found.devices.size(); ++i) {
        PrintDevice(found.devices[i], i, meters);
      }
      if (found.devices.empty()) {
        fmt::print("{}: no devices: {}\n", found.backend->name(), ShownText(found.why_none));
      }
    }
    for (const FoundBackend& found : backends) {
      if (LooksForDrivers(found.drivers)) {
        PrintDrivers(found.backend->title(), found.drivers);
      }
    }
    return 0;
  };
}

}  // namespace reprise
