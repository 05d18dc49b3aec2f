// Network interfaces: eth0/statistics/{rx_bytes, tx_bytes, rx_dropped, tx_dropped}.
//
// What goes through a bridge, bond, VLAN or tunnel goes through the interface below it too, so only
// interfaces with hardware behind them count (they have a "device"). A container or namespace sees
// none of these: there all interfaces count, but for the loopback.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "report/telemetry/scaled_files.h"

namespace reprise {
namespace {

struct NetworkCounter {
  const char* file;
  const char* metric;
  const char* unit;
  const char* help;
};
constexpr std::array<NetworkCounter, 4> kNetworkCounters{{
    {"tx_bytes", "network_tx", "bytes", "sent"},
    {"rx_bytes", "network_rx", "bytes", "received"},
    {"tx_dropped", "network_tx_dropped", "count", "packets that were not sent"},
    {"rx_dropped", "network_rx_dropped", "count", "packets that were received and dropped"},
}};

std::vector<std::string> Interfaces(const std::string& directory) {
  std::vector<std::string> all = ListPrefixed(directory, "");
  std::erase(all, "lo");
  std::vector<std::string> hardware;
  std::copy_if(all.begin(), all.end(), std::back_inserter(hardware),
               [&](const std::string& interface) {
                 std::error_code error;
                 return std::filesystem::exists(directory + "/" + interface + "/device", error);
               });
  return hardware.empty() ? all : hardware;
}

}  // namespace

SourceKind::Opened OpenNetwork(const SourceOptions& options) {
  const std::string directory = options.root + "/sys/class/net";
  auto source = std::make_unique<ScaledFilesSource>("network");
  for (const std::string& interface : Interfaces(directory)) {
    for (const NetworkCounter& counter : kNetworkCounters) {
      source->Add(fmt::format("{}/{}/statistics/{}", directory, interface, counter.file), 1,
                  {.name = counter.metric,
                   .unit = counter.unit,
                   .device = interface,
                   .kind = MetricKind::kCounter,
                   .help = fmt::format("{} by {}", counter.help, interface)});
    }
  }
  return OpenedIfAny(std::move(source), directory + ": no network interfaces but the loopback");
}

}  // namespace reprise
