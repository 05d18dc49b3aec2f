#include "report/telemetry/process_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/text.h"
#include "report/telemetry/nvml_api.h"
#include "report/telemetry/pseudo_file.h"
#include "report/telemetry/vendor_library.h"

namespace reprise {
namespace {

using Neighbours = std::map<std::string, int>;  // what links lead to, and how many

// ---- Lists of the kernel: "0-3,8". ----

std::set<int> NumbersOf(std::string_view list) {
  constexpr int kMax = 1 << 20;  // more is damage
  std::set<int> numbers;
  for (const std::string_view part : SplitText(list, ',')) {
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = ParseNumber(part.substr(0, dash));
    const auto last = dash < part.size() ? ParseNumber(part.substr(dash + 1)) : first;
    if (!first || !last || *first < 0 || *last > kMax) {
      continue;
    }
    for (auto number = static_cast<int>(*first); number <= static_cast<int>(*last); ++number) {
      numbers.insert(number);
    }
  }
  return numbers;
}

// The list behind "Name:\t" in /proc/self/status.
std::string StatusList(const std::string& root, std::string_view name) {
  auto file = PseudoFile::Open(root + "/proc/self/status");
  const auto text = file ? file->Text() : std::nullopt;
  if (!text) {
    return {};
  }
  for (const std::string_view line : SplitText(*text, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(":")) {
      const std::string_view value = line.substr(name.size() + 1);
      const std::size_t begin = value.find_first_not_of(" \t");
      return begin == std::string_view::npos ? std::string() : std::string(value.substr(begin));
    }
  }
  return {};
}

// ---- NVLink: NVIDIA's library. ----

std::string NvlinkNeighbour(const nvml::Api& api, nvml::Device device, unsigned link) {
  unsigned type = 0;
  if (api.nvlink_remote_type != nullptr &&
      api.nvlink_remote_type(device, link, &type) == nvml::kSuccess &&
      type == nvml::kNvlinkToSwitch) {
    return "switch";
  }
  nvml::PciInfo pci{};
  if (api.nvlink_remote == nullptr || api.nvlink_remote(device, link, &pci) != nvml::kSuccess) {
    return "unknown";  // it is up, and the driver says no more
  }
  const std::string address = NormalizePciBusId(pci.bus_id.data());
  return address.empty() ? "unknown" : address;
}

std::optional<Neighbours> NvlinksOf(const nvml::Api& api, const std::string& pci_bus_id) {
  constexpr unsigned kMaxLinks = 64;  // far beyond NVML_NVLINK_MAX_LINKS: the driver ends the loop
  nvml::Device device = nullptr;
  if (api.device_by_pci == nullptr || api.nvlink_state == nullptr ||
      api.device_by_pci(pci_bus_id.c_str(), &device) != nvml::kSuccess) {
    return std::nullopt;
  }
  Neighbours neighbours;
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    unsigned is_up = 0;
    const nvml::Return result = api.nvlink_state(device, link, &is_up);
    if (result == nvml::kInvalidArgument) {
      break;  // there are no more
    }
    if (result == nvml::kNotSupported) {
      continue;  // the device has none of this number
    }
    if (result != nvml::kSuccess) {
      return std::nullopt;
    }
    if (is_up != 0) {
      ++neighbours[NvlinkNeighbour(api, device, link)];
    }
  }
  return neighbours;
}

std::optional<Neighbours> Nvlinks(const SourceOptions& options, const std::string& pci_bus_id) {
  const auto library = VendorLibrary::Open(options, "nvml", {"libnvidia-ml.so.1"});
  if (!library) {
    return std::nullopt;
  }
  const auto api = nvml::LoadApi(*library);
  if (!api || api->init() != nvml::kSuccess) {
    return std::nullopt;
  }
  auto neighbours = NvlinksOf(*api, pci_bus_id);
  api->shutdown();
  return neighbours;
}

// ---- xGMI: the topology of the kernel's amdkfd, with a node for each processor and device. ----

constexpr std::string_view kKfdNodes = "/sys/class/kfd/kfd/topology/nodes";

// Lines of "name number".
std::map<std::string, std::int64_t> PropertiesIn(const std::string& path) {
  std::map<std::string, std::int64_t> properties;
  auto file = PseudoFile::Open(path);
  const auto text = file ? file->Text() : std::nullopt;
  for (const std::string_view line : SplitText(text.value_or(""), '\n')) {
    const std::size_t blank = line.find(' ');
    if (const auto number =
            blank == std::string_view::npos ? std::nullopt : ParseNumber(line.substr(blank))) {
      properties[std::string(line.substr(0, blank))] = *number;
    }
  }
  return properties;
}

std::string KfdAddress(std::map<std::string, std::int64_t> node) {
  if (node["simd_count"] == 0) {
    return "host";  // a processor
  }
  const std::int64_t place = node["location_id"];
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", node["domain"], place >> 8 & 0xff,
                     place >> 3 & 0x1f, place & 7);
}

std::optional<Neighbours> XgmiLinks(const std::string& root, const std::string& pci_bus_id) {
  constexpr std::int64_t kXgmi = 11;  // CRAT_IOLINK_TYPE_XGMI of the kernel's kfd_crat.h
  const std::string directory = root + std::string(kKfdNodes);
  std::map<std::string, std::string> addresses;  // by node
  std::string own;
  for (const std::string& node : ListPrefixed(directory, "")) {
    const auto properties = PropertiesIn(fmt::format("{}/{}/properties", directory, node));
    if (properties.empty()) {
      continue;  // a device that a container does not show
    }
    addresses[node] = KfdAddress(properties);
    own = addresses[node] == pci_bus_id ? node : own;
  }
  if (own.empty()) {
    return std::nullopt;
  }
  Neighbours neighbours;
  const std::string links = fmt::format("{}/{}/io_links", directory, own);
  for (const std::string& link : ListPrefixed(links, "")) {
    auto of = PropertiesIn(fmt::format("{}/{}/properties", links, link));
    if (of["type"] == kXgmi) {
      const auto to = addresses.find(std::to_string(of["node_to"]));
      ++neighbours[to == addresses.end() ? "unknown" : to->second];
    }
  }
  return neighbours;
}

void SetLinks(const char* kind, const std::optional<Neighbours>& neighbours,
              DevicePlacement& placement) {
  if (!neighbours) {
    return;
  }
  placement.link_kind = kind;
  placement.links = 0;
  for (const auto& [name, count] : *neighbours) {
    placement.links += count;
    placement.link_neighbours +=
        fmt::format("{}{} x{}", placement.link_neighbours.empty() ? "" : ", ", name, count);
  }
}

}  // namespace

DevicePlacement ReadDevicePlacement(const SourceOptions& options, const std::string& pci_bus_id) {
  DevicePlacement placement;
  if (pci_bus_id.empty()) {
    return placement;
  }
  const std::string device = options.root + "/sys/bus/pci/devices/" + pci_bus_id;
  const auto number = [&device](const char* file) {
    auto opened = PseudoFile::Open(fmt::format("{}/{}", device, file));
    return opened ? opened->Number() : std::nullopt;
  };
  constexpr std::int64_t kMaxLanes = 32;
  constexpr std::int64_t kMaxNodes = 1 << 20;
  if (const auto lanes = number("current_link_width"); lanes && *lanes > 0 && *lanes <= kMaxLanes) {
    placement.pcie_lanes = static_cast<std::int32_t>(*lanes);
  }
  if (const auto node = number("numa_node"); node && *node >= 0 && *node < kMaxNodes) {
    placement.numa_node = static_cast<std::int32_t>(*node);
  }
  const std::string vendor = ReadLabel(device + "/vendor");
  if (vendor == "0x10de") {
    SetLinks("nvlink", Nvlinks(options, pci_bus_id), placement);
  } else if (vendor == "0x1002") {
    SetLinks("xgmi", XgmiLinks(options.root, pci_bus_id), placement);
  }
  return placement;
}

ProcessPlacement ReadProcessPlacement(const std::string& root) {
  const std::set<int> own = NumbersOf(StatusList(root, "Cpus_allowed_list"));
  const std::string directory = root + "/sys/devices/system/node";
  std::set<int> nodes;
  for (const std::string& name : ListPrefixed(directory, "node")) {
    const auto node = ParseNumber(std::string_view(name).substr(4));
    const std::set<int> cores = NumbersOf(ReadLabel(fmt::format("{}/{}/cpulist", directory, name)));
    const bool may_use =
        std::any_of(cores.begin(), cores.end(), [&own](int core) { return own.contains(core); });
    if (node && may_use) {
      nodes.insert(static_cast<int>(*node));
    }
  }
  return {NumbersText(nodes), StatusList(root, "Mems_allowed_list")};
}

}  // namespace reprise
