// Running Average Power Limit: energy counters of Intel and AMD packages, by the powercap class.
//   intel-rapl:0/{name "package-0", energy_uj, max_energy_range_uj}, intel-rapl:0:1/{name "dram",
//   …}
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/telemetry/pseudo_file.h"
#include "report/telemetry/running_total.h"
#include "report/telemetry/source.h"

namespace reprise {
namespace {

constexpr double kJoulesPerMicrojoule = 1e-6;

// A zone's energy since opening: the counter wraps every few minutes at full power.
class Zone {
 public:
  Zone(PseudoFile energy, std::int64_t range_uj)
      : energy_(std::move(energy)),
        total_uj_(static_cast<std::uint64_t>(std::max<std::int64_t>(range_uj, 0))) {
    (void)ReadJoules();
  }

  double ReadJoules() {
    const std::optional<std::int64_t> now = energy_.Number();
    if (!now || *now < 0) {
      return kNoReading;
    }
    return static_cast<double>(total_uj_.Update(static_cast<std::uint64_t>(*now))) *
           kJoulesPerMicrojoule;
  }

 private:
  PseudoFile energy_;
  RunningTotal total_uj_;
};

class RaplSource : public Source {
 public:
  RaplSource() : Source("rapl") {}

  void Read(std::span<double> values) override {
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      values[i] = zones_[i].ReadJoules();
    }
  }

  // `domain`: "package", "dram", "core"; `device`: "package-0".
  void Add(Zone zone, const std::string& domain, const std::string& device) {
    zones_.push_back(std::move(zone));
    AddMetric({.name = domain + "_energy",
               .unit = "joules",
               .device = device,
               .kind = MetricKind::kEnergy,
               .help = "energy of the RAPL domain since sampling began"});
  }

 private:
  std::vector<Zone> zones_;
};

// The package of zone "intel-rapl:0:1" is zone "intel-rapl:0".
std::string PackageName(const std::string& directory, const std::string& zone) {
  constexpr std::string_view kPrefix = "intel-rapl:";
  const std::size_t colon = zone.find(':', kPrefix.size());
  return colon == std::string::npos ? std::string()
                                    : ReadLabel(directory + "/" + zone.substr(0, colon) + "/name");
}

}  // namespace

SourceKind::Opened OpenRapl(const SourceOptions& options) {
  const std::string directory = options.root + "/sys/class/powercap";
  auto source = std::make_unique<RaplSource>();
  std::string why_not = directory + ": no RAPL zones (needs Intel or AMD, on bare metal)";
  std::vector<std::string> taken;
  // "intel-rapl-mmio:" zones show the same package a second time.
  for (const std::string& zone : ListPrefixed(directory, "intel-rapl:")) {
    const std::string path = fmt::format("{}/{}", directory, zone);
    bool denied = false;
    auto energy = PseudoFile::Open(path + "/energy_uj", &denied);
    if (!energy) {
      why_not = denied ? fmt::format(
                             "permission denied: {}/energy_uj (run as root, or: sudo chmod a+r "
                             "{}/intel-rapl:*/energy_uj)",
                             path, directory)
                       : energy.error().message;
      continue;
    }
    auto range = PseudoFile::Open(path + "/max_energy_range_uj");
    const std::int64_t range_uj = range ? range->Number().value_or(0) : 0;
    const std::string name = ReadLabel(path + "/name");
    const std::string domain = name.substr(0, name.find('-'));
    const std::string package = PackageName(directory, zone);
    const std::string device =
        UniqueName(package.empty() ? name : fmt::format("{}/{}", package, name), zone, taken);
    source->Add(Zone(std::move(*energy), range_uj), domain.empty() ? "zone" : domain, device);
  }
  return OpenedIfAny(std::move(source), why_not);
}

}  // namespace reprise
