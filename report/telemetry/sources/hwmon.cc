// Sensor chips: hwmon3/{name "coretemp", temp1_input 45000, temp1_label "Package id 0", …}.
#include <fmt/format.h>

#include <array>

#include "report/telemetry/scaled_files.h"

namespace reprise {
namespace {

struct Channel {
  std::string_view prefix;  // of the channel's files: "temp" in temp1_input
  std::string_view suffix;
  std::string_view metric;
  std::string_view unit;
  double factor;
  MetricKind kind;
};
// Documentation/hwmon/sysfs-interface: millidegrees, microwatts, microjoules.
constexpr std::array<Channel, 4> kChannels{{
    {"temp", "_input", "temperature", "celsius", 1e-3, MetricKind::kGauge},
    {"power", "_input", "power", "watts", 1e-6, MetricKind::kGauge},
    {"power", "_average", "power", "watts", 1e-6, MetricKind::kGauge},
    {"energy", "_input", "energy", "joules", 1e-6, MetricKind::kEnergy},
}};

// The bus id of a GPU on a board of its own, which a vendor's library may read too. Other chips are
// parts of the CPU (their PCI devices are its bridges) or of the board; so is a GPU within the
// CPU's package, whose power is the package's: the kernel gives it no power cap.
std::string GpuBusId(const std::string& chip_path, std::string_view chip_name) {
  const std::string class_code = ReadLabel(chip_path + "/device/class");
  const bool is_gpu = class_code.starts_with("0x03") || class_code.starts_with("0x12");
  const bool has_own_board = chip_name != "amdgpu" || !ReadLabel(chip_path + "/power1_cap").empty();
  return is_gpu && has_own_board ? PciBusIdOfDevice(chip_path) : std::string();
}

}  // namespace

SourceKind::Opened OpenHwmon(const SourceOptions& options) {
  const std::string directory = options.root + "/sys/class/hwmon";
  auto source = std::make_unique<ScaledFilesSource>("hwmon");
  std::vector<std::string> taken;
  for (const std::string& chip : ListPrefixed(directory, "hwmon")) {
    const std::string path = fmt::format("{}/{}", directory, chip);
    const std::string name = ReadLabel(path + "/name");
    const std::string& chip_name = name.empty() ? chip : name;
    const std::string gpu_bus_id = GpuBusId(path, chip_name);
    for (const Channel& channel : kChannels) {
      for (const std::string& file : ListPrefixed(path, channel.prefix)) {
        if (!file.ends_with(channel.suffix)) {
          continue;
        }
        const std::string stem = file.substr(0, file.size() - channel.suffix.size());
        if (channel.suffix == "_average" &&
            !ReadLabel(fmt::format("{}/{}_input", path, stem)).empty()) {
          continue;  // the same sensor, shown twice
        }
        const std::string label = ReadLabel(fmt::format("{}/{}_label", path, stem));
        const std::string device =
            UniqueName(fmt::format("{}/{}", chip_name, label.empty() ? stem : label),
                       fmt::format("{}/{}", chip, stem), taken);
        const bool added = source->Add(fmt::format("{}/{}", path, file), channel.factor,
                                       {.name = std::string(channel.metric),
                                        .unit = std::string(channel.unit),
                                        .device = device,
                                        .kind = channel.kind,
                                        .help = fmt::format("sensor {}/{}", chip, file)});
        if (added && !gpu_bus_id.empty()) {
          source->Identify({.device = device, .name = chip_name, .pci_bus_id = gpu_bus_id});
        }
      }
    }
  }
  return OpenedIfAny(std::move(source), directory + ": no temperature, power or energy sensors");
}

}  // namespace reprise
