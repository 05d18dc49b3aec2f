#include "report/energy/energy_meters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/sampled_energy.h"
#include "report/energy/series.h"

namespace reprise {
namespace {

// What a meter's device is, where it is one that computes: its UUID and PCI bus id, either may be
// empty; both are for what is the host's.
struct Identity {
  std::string uuid, pci_bus_id;
  [[nodiscard]] bool Known() const { return !uuid.empty() || !pci_bus_id.empty(); }
};

Identity IdentityOf(const Metric& metric, const RankData& sampled_by) {
  Identity identity;
  for (const MeteredDevice& device : sampled_by.meters) {
    if (device.device == metric.device && device.source == metric.source) {
      identity = {device.uuid, device.pci_bus_id};
    }
  }
  constexpr std::string_view kGpu = "gpu-";
  if (!identity.Known() && metric.device.starts_with(kGpu)) {
    identity.pci_bus_id = NormalizePciBusId(metric.device.substr(kGpu.size()));
  }
  return identity;
}

bool ComputesOn(const RankData& rank, const Identity& identity) {
  return std::ranges::any_of(rank.devices, [&](const RunDevice& device) {
    return (!device.uuid.empty() && device.uuid == identity.uuid) ||
           (!device.pci_bus_id.empty() && device.pci_bus_id == identity.pci_bus_id);
  });
}

std::optional<double> IdleWatts(const Metric& metric, std::span<const Sample> samples,
                                const RankData& rank) {
  const auto begin_ns = rank.facts.idle_begin_ns;
  const auto end_ns = rank.facts.idle_end_ns;
  if (!begin_ns || !end_ns || *begin_ns >= *end_ns) {
    return std::nullopt;
  }
  const double joules = IntegrateEnergyJoules(metric.kind, samples, *begin_ns, *end_ns);
  return std::isnan(joules)
             ? std::nullopt
             : std::optional(joules / (static_cast<double>(*end_ns - *begin_ns) * 1e-9));
}

bool CountsInTotal(const Metric& metric, const std::string& host, std::span<const EnergyRow> rows) {
  return std::ranges::any_of(rows, [&](const EnergyRow& row) {
    return row.in_total && row.host == host && row.device == metric.device &&
           row.metric == metric.name && row.source == metric.source;
  });
}

void AddMeters(std::span<const MeasuredRank> ranks, const MeasuredRank& sampled_by,
               std::span<const EnergyRow> rows, HostMeters& host) {
  const RankData& data = sampled_by.data();
  const SampleTable table(data);
  for (const Metric& metric : data.metrics) {
    if (!CountsInTotal(metric, host.host, rows)) {
      continue;
    }
    const std::span<const Sample> samples = table.Of(metric);
    auto curve = PowerCurve::Build(metric, samples, {sampled_by.begin_ns(), sampled_by.end_ns()});
    if (!curve) {
      continue;
    }
    RunMeter meter{.metric = &metric, .curve = std::move(*curve)};
    meter.idle_watts = IdleWatts(metric, samples, data);
    meter.update_ns = UpdateIntervalNs(samples);
    const auto on_device = RanksOnDevice(metric, data, ranks, host.ranks);
    meter.device = on_device ? metric.device : "";
    meter.users = on_device.value_or(host.ranks);
    meter.devices = RanksAlike(data);
    host.meters.push_back(std::move(meter));
  }
}

}  // namespace

std::optional<std::vector<std::size_t>> RanksOnDevice(const Metric& metric,
                                                      const RankData& sampled_by,
                                                      std::span<const MeasuredRank> ranks,
                                                      const std::vector<std::size_t>& candidates) {
  const Identity identity = IdentityOf(metric, sampled_by);
  if (!identity.Known()) {
    return std::nullopt;
  }
  std::vector<std::size_t> users;
  std::ranges::copy_if(candidates, std::back_inserter(users),
                       [&](std::size_t r) { return ComputesOn(ranks[r].data(), identity); });
  return users;
}

std::vector<std::int32_t> UsersOf(const Metric& metric, const RankData& sampled_by,
                                  std::span<const MeasuredRank> ranks,
                                  const std::vector<std::size_t>& candidates) {
  std::vector<std::int32_t> users;
  for (const std::size_t r :
       RanksOnDevice(metric, sampled_by, ranks, candidates).value_or(std::vector<std::size_t>())) {
    users.push_back(ranks[r].data().rank);
  }
  return users;
}

std::vector<std::size_t> RanksOfHost(std::span<const RankRow> rows, const std::string& host) {
  std::vector<std::size_t> ranks;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].host == host) {
      ranks.push_back(r);
    }
  }
  return ranks;
}

std::vector<HostMeters> FindMeters(std::span<const MeasuredRank> ranks,
                                   std::span<const RankRow> rank_rows,
                                   std::span<const EnergyRow> rows) {
  std::vector<HostMeters> hosts;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto found = std::ranges::find(hosts, rank_rows[r].host, &HostMeters::host);
    HostMeters& host =
        found == hosts.end() ? hosts.emplace_back(HostMeters{.host = rank_rows[r].host}) : *found;
    host.ranks.push_back(r);
  }
  for (HostMeters& host : hosts) {
    for (const std::size_t r : host.ranks) {
      AddMeters(ranks, ranks[r], rows, host);
    }
  }
  return hosts;
}

bool ComputesOnHost(std::size_t rank, const RankData& data, const HostMeters& host) {
  const bool metered = std::ranges::any_of(host.meters, [rank](const RunMeter& meter) {
    return !meter.device.empty() && std::ranges::find(meter.users, rank) != meter.users.end();
  });
  return !metered && std::ranges::all_of(data.devices, [](const RunDevice& device) {
    return device.pci_bus_id.empty();
  });
}

}  // namespace reprise
