// Thermal zones: thermal_zone0/{type "x86_pkg_temp", temp 45000 (millidegrees)}.
#include <fmt/format.h>

#include "report/telemetry/scaled_files.h"

namespace reprise {

SourceKind::Opened OpenThermal(const SourceOptions& options) {
  const std::string directory = options.root + "/sys/class/thermal";
  auto source = std::make_unique<ScaledFilesSource>("thermal");
  std::vector<std::string> taken;
  for (const std::string& zone : ListPrefixed(directory, "thermal_zone")) {
    const std::string path = fmt::format("{}/{}", directory, zone);
    const std::string type = ReadLabel(path + "/type");
    source->Add(path + "/temp", 1e-3,
                {.name = "temperature",
                 .unit = "celsius",
                 .device = UniqueName(type.empty() ? zone : type, zone, taken),
                 .help = "temperature of " + zone});
  }
  return OpenedIfAny(std::move(source), directory + ": no thermal zones");
}

}  // namespace reprise
