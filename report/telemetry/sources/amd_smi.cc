// AMD GPUs by AMD SMI. Needs no root: the groups "video" and "render".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "report/telemetry/amd_smi_api.h"
#include "report/telemetry/amd_throttling.h"
#include "report/telemetry/running_total.h"

namespace reprise {
namespace {

// One reading of a GPU, from which its metrics are taken.
struct Snapshot {
  std::optional<AmdMetricsTable> table;
  const AmdThrottling* throttling;
  std::optional<double> joules;  // since the first reading
  const AmdGpu* gpu;
};

template <typename Number>
double Known(Number number, double scale) {
  return number == std::numeric_limits<Number>::max() ? kNoReading
                                                      : static_cast<double>(number) * scale;
}

template <typename Number, std::size_t kSize>
double SumKnown(const std::array<Number, kSize>& numbers, double scale) {
  double sum = kNoReading;
  for (const Number number : numbers) {
    if (number != std::numeric_limits<Number>::max()) {
      sum = (std::isnan(sum) ? 0 : sum) + static_cast<double>(number) * scale;
    }
  }
  return sum;
}

template <auto kMember, int kPerUnit = 1>
double FromTable(const Snapshot& s) {
  return s.table ? Known((*s.table).*kMember, 1.0 / kPerUnit) : kNoReading;
}

double Temperature(const Snapshot& s) {
  const double edge = FromTable<&AmdMetricsTable::temperature_edge>(s);
  return std::isnan(edge) ? FromTable<&AmdMetricsTable::temperature_hotspot>(s) : edge;
}

constexpr double kMega = 1e6;

// Newer GPUs have several clocks, of the parts that are there: their mean.
double GfxClock(const Snapshot& s) {
  if (!s.table) {
    return kNoReading;
  }
  const auto& clocks = s.table->current_gfxclks;
  const auto known = static_cast<double>(
      std::count_if(clocks.begin(), clocks.end(), [](std::uint16_t c) { return c != 0xFFFF; }));
  return known > 0 ? SumKnown(clocks, kMega) / known : Known(s.table->current_gfxclk, kMega);
}

double MemoryClock(const Snapshot& s) {
  return s.table ? Known(s.table->current_uclk, kMega) : kNoReading;
}

constexpr double kBytesPerKilobyte = 1024;

double XgmiTx(const Snapshot& s) {
  return s.table ? SumKnown(s.table->xgmi_write_data_acc, kBytesPerKilobyte) : kNoReading;
}

double XgmiRx(const Snapshot& s) {
  return s.table ? SumKnown(s.table->xgmi_read_data_acc, kBytesPerKilobyte) : kNoReading;
}

double Energy(const Snapshot& s) { return s.joules.value_or(kNoReading); }

double ThrottleReasons(const Snapshot& s) {
  const auto reasons = s.throttling->reasons();
  return s.table && reasons ? *reasons : kNoReading;
}

template <AmdLimit kLimit>
double ThrottleTime(const Snapshot& s) {
  return s.table ? s.throttling->Seconds(kLimit).value_or(kNoReading) : kNoReading;
}

template <auto kRead>
double FromCall(const Snapshot& s) {
  return (s.gpu->*kRead)().value_or(kNoReading);
}

struct MetricSpec {
  const char* name;
  const char* unit;
  MetricKind kind;
  double (*value)(const Snapshot&);
  const char* help;
};
constexpr MetricKind kGauge = MetricKind::kGauge;
constexpr MetricKind kCounter = MetricKind::kCounter;
constexpr std::array kSpecs = std::to_array<MetricSpec>({
    {"power", "watts", kGauge, &FromTable<&AmdMetricsTable::current_socket_power>,
     "power of the socket now"},
    {"average_power", "watts", kGauge, &FromTable<&AmdMetricsTable::average_socket_power>,
     "power of the socket, mean of the firmware's window"},
    {"power_limit", "watts", kGauge, &FromCall<&AmdGpu::PowerCapWatts>, "power cap in force"},
    {"gpu_energy", "joules", MetricKind::kEnergy, &Energy,
     "energy of the socket since sampling began"},
    {"temperature", "celsius", kGauge, &Temperature,
     "temperature at the die's edge; its hottest spot where there is no such sensor"},
    {"hotspot_temperature", "celsius", kGauge, &FromTable<&AmdMetricsTable::temperature_hotspot>,
     "temperature of the hottest spot"},
    {"memory_temperature", "celsius", kGauge, &FromTable<&AmdMetricsTable::temperature_mem>,
     "temperature of the memory"},
    {"sm_clock", "hertz", kGauge, &GfxClock, "clock of the compute units, mean over the dies"},
    {"memory_clock", "hertz", kGauge, &MemoryClock, "memory clock now"},
    {"max_sm_clock", "hertz", kGauge, &FromCall<&AmdGpu::MaxClockHertz>,
     "highest clock that the compute units can have"},
    {"utilization", "fraction", kGauge, &FromTable<&AmdMetricsTable::average_gfx_activity, 100>,
     "share of time in which compute units were busy"},
    {"memory_utilization", "fraction", kGauge,
     &FromTable<&AmdMetricsTable::average_umc_activity, 100>,
     "share of time in which the memory controller was busy"},
    {"memory_used", "bytes", kGauge, &FromCall<&AmdGpu::MemoryUsedBytes>, "memory in use"},
    {"throttle_reasons", "count", MetricKind::kState, &ThrottleReasons,
     "what lowers the clocks now"},
    {"throttle_power_time", "seconds", kCounter, &ThrottleTime<kPpt>,
     "time at the limit of package power tracking"},
    {"throttle_thermal_time", "seconds", kCounter, &ThrottleTime<kSocketThermal>,
     "time at the limit of the socket's temperature"},
    {"throttle_vr_thermal_time", "seconds", kCounter, &ThrottleTime<kVrThermal>,
     "time at the limit of the voltage regulators' temperature"},
    {"throttle_memory_thermal_time", "seconds", kCounter, &ThrottleTime<kHbmThermal>,
     "time at the limit of the memory's temperature"},
    {"throttle_prochot_time", "seconds", kCounter, &ThrottleTime<kProchot>,
     "time in which PROCHOT was asserted"},
    {"xgmi_tx", "bytes", kCounter, &XgmiTx, "written over all XGMI links"},
    {"xgmi_rx", "bytes", kCounter, &XgmiRx, "read over all XGMI links"},
    {"ecc_corrected", "count", kCounter, &FromCall<&AmdGpu::EccCorrected>,
     "errors that were corrected"},
    {"ecc_uncorrected", "count", kCounter, &FromCall<&AmdGpu::EccUncorrected>,
     "errors that could not be corrected"},
    {"pcie_replays", "count", kCounter, &FromCall<&AmdGpu::PcieReplays>,
     "packets that PCIe had to send again"},
});

struct AmdMeter {
  AmdGpu gpu;
  std::vector<const MetricSpec*> specs;
  AmdThrottling throttling;
  RunningTotal energy = RunningTotal();
  double joules_per_count = 0;

  Snapshot Take(AmdMemory& memory) {
    Snapshot snapshot{.table = gpu.ReadTable(memory), .throttling = &throttling, .gpu = &gpu};
    if (snapshot.table) {
      throttling.Update(*snapshot.table, MonotonicNs());
    }
    if (const auto now = gpu.ReadEnergy()) {
      joules_per_count = now->joules_per_count;
      snapshot.joules = static_cast<double>(energy.Update(now->count)) * joules_per_count;
    }
    return snapshot;
  }
};

class AmdSmiSource : public Source {
 public:
  explicit AmdSmiSource(std::unique_ptr<AmdSmiLibrary> library)
      : Source("amd_smi"), library_(std::move(library)) {
    for (const AmdGpu& gpu : library_->Gpus()) {
      Add(gpu);
    }
  }

  [[nodiscard]] bool MayBlock() const override { return true; }

  void Read(std::span<double> values) override {
    AmdMemory memory;
    std::size_t next = 0;
    for (AmdMeter& meter : meters_) {
      const Snapshot snapshot = meter.Take(memory);
      for (const MetricSpec* spec : meter.specs) {
        values[next++] = spec->value(snapshot);
      }
    }
  }

 private:
  // The metrics that the GPU has a value of now.
  void Add(const AmdGpu& gpu) {
    AmdMeter meter{.gpu = gpu};
    AmdMemory memory;
    const Snapshot snapshot = meter.Take(memory);
    MeteredDevice identity = gpu.Identity();
    identity.device = "gpu-" + (identity.pci_bus_id.empty() ? std::to_string(meters_.size())
                                                            : identity.pci_bus_id);
    for (const MetricSpec& spec : kSpecs) {
      if (std::isnan(spec.value(snapshot))) {
        continue;
      }
      meter.specs.push_back(&spec);
      Metric& metric = AddMetric({.name = spec.name,
                                  .unit = spec.unit,
                                  .device = identity.device,
                                  .kind = spec.kind,
                                  .help = spec.help});
      if (metric.kind == MetricKind::kState) {
        metric.states = kAmdThrottleReasons;
      } else if (metric.kind == MetricKind::kEnergy) {
        metric.help += fmt::format(", in steps of {:.1f} uJ", meter.joules_per_count * 1e6);
      }
    }
    if (!meter.specs.empty()) {
      AddDevice(std::move(identity));
      meters_.push_back(std::move(meter));
    }
  }

  std::unique_ptr<AmdSmiLibrary> library_;
  std::vector<AmdMeter> meters_;
};

}  // namespace

SourceKind::Opened OpenAmdSmi(const SourceOptions& options) {
  auto library = AmdSmiLibrary::Open(options);
  if (!library) {
    return {nullptr, library.error().message};
  }
  const std::string path = (*library)->path();
  return OpenedIfAny(std::make_unique<AmdSmiSource>(std::move(*library)),
                     path + ": no GPU that gives any metric");
}

}  // namespace reprise
