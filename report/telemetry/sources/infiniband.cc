// InfiniBand and RoCE ports: mlx5_0/ports/1/{rate "200 Gb/sec (4X HDR)", counters/port_xmit_data}.
#include <fmt/format.h>

#include <array>

#include "report/telemetry/scaled_files.h"

namespace reprise {
namespace {

struct Counter {
  const char* file;
  const char* metric;
  const char* unit;
  double factor;
  const char* help;
};
// The kernel's Documentation/ABI/stable/sysfs-class-infiniband: data are counted in lanes of 4
// bytes. Errors stay at their highest value, data may on adapters with 32-bit counters.
constexpr std::array<Counter, 8> kCounters{{
    {"port_xmit_data", "infiniband_tx", "bytes", 4, "sent"},
    {"port_rcv_data", "infiniband_rx", "bytes", 4, "received"},
    {"port_xmit_wait", "infiniband_tx_wait", "count", 1, "ticks in which data waited to be sent"},
    {"port_xmit_discards", "infiniband_tx_discards", "count", 1, "packets not sent"},
    {"port_rcv_errors", "infiniband_rx_errors", "count", 1, "packets received with errors"},
    {"symbol_error", "infiniband_symbol_errors", "count", 1, "minor errors of the link"},
    {"link_error_recovery", "infiniband_link_recoveries", "count", 1,
     "times that the link had to be recovered"},
    {"link_downed", "infiniband_link_downs", "count", 1, "times that the link went down"},
}};

}  // namespace

SourceKind::Opened OpenInfiniband(const SourceOptions& options) {
  const std::string directory = options.root + "/sys/class/infiniband";
  auto source = std::make_unique<ScaledFilesSource>("infiniband");
  for (const std::string& adapter : ListPrefixed(directory, "")) {
    const std::string ports = fmt::format("{}/{}/ports", directory, adapter);
    for (const std::string& port : ListPrefixed(ports, "")) {
      const std::string path = fmt::format("{}/{}", ports, port);
      const std::string rate = ReadLabel(path + "/rate");
      for (const Counter& counter : kCounters) {
        source->Add(fmt::format("{}/counters/{}", path, counter.file), counter.factor,
                    {.name = counter.metric,
                     .unit = counter.unit,
                     .device = fmt::format("{}/{}", adapter, port),
                     .kind = MetricKind::kCounter,
                     .help = fmt::format("{} by a port of {}", counter.help,
                                         rate.empty() ? "unknown rate" : rate)});
      }
    }
  }
  return OpenedIfAny(std::move(source), directory + ": no InfiniBand ports");
}

}  // namespace reprise
