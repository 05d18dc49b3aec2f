// CPU and memory use of the host, and what this process holds of it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "report/telemetry/cpu_times.h"
#include "report/telemetry/load_meter.h"
#include "report/telemetry/pseudo_file.h"
#include "report/telemetry/source.h"

namespace reprise {
namespace {

// The number after `key` at the beginning of a line: "MemTotal:  16 kB", "ctxt 12345".
std::optional<std::int64_t> FieldOf(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string_view::npos; ++at) {
    if (at == 0 || text[at - 1] == '\n') {
      return ParseNumber(text.substr(at + key.size()));
    }
  }
  return std::nullopt;
}

double MemoryUsedBytes(PseudoFile& meminfo) {
  const auto text = meminfo.Text();
  const auto total = text ? FieldOf(*text, "MemTotal:") : std::nullopt;
  const auto available = text ? FieldOf(*text, "MemAvailable:") : std::nullopt;
  constexpr double kBytesPerKib = 1024;
  return total && available ? static_cast<double>(*total - *available) * kBytesPerKib : kNoReading;
}

// "12345 678 90 …": pages in all, pages resident.
double ResidentBytes(PseudoFile& statm) {
  const auto text = statm.Text().value_or("");
  const std::size_t blank = text.find(' ');
  const auto pages = ParseNumber(text) && blank != std::string_view::npos
                         ? ParseNumber(text.substr(blank))
                         : std::nullopt;
  return pages ? static_cast<double>(*pages * sysconf(_SC_PAGESIZE)) : kNoReading;
}

double PressureSeconds(PseudoFile& pressure) {
  const auto total_ns = PressureNs(pressure.Text().value_or(""));
  return total_ns ? static_cast<double>(*total_ns) * 1e-9 : kNoReading;
}

class ProcfsSource : public Source {
 public:
  ProcfsSource(const SourceOptions& options, PseudoFile stat)
      : Source("procfs"), stat_(std::move(stat)) {
    const std::string& root = options.root;
    Add("cpu_utilization", "fraction", "host", MetricKind::kGauge,
        "busy share of all CPUs since the last sample");
    Add("context_switches", "count", "host", MetricKind::kCounter,
        "context switches of all processes");
    if (auto file = PseudoFile::Open(root + "/proc/meminfo")) {
      Add("memory_used", "bytes", "host", MetricKind::kGauge, "MemTotal - MemAvailable");
      readings_.push_back({std::move(*file), &MemoryUsedBytes});
    }
    if (auto file = PseudoFile::Open(root + "/proc/self/statm"); file && options.own_process) {
      Add("resident_memory", "bytes", "process", MetricKind::kGauge,
          "resident memory of the sampling process");
      readings_.push_back({std::move(*file), &ResidentBytes});
    }
    for (const std::string resource : {"cpu", "memory", "io"}) {
      if (auto file = PseudoFile::Open(fmt::format("{}/proc/pressure/{}", root, resource))) {
        Add(resource + "_pressure", "seconds", "host", MetricKind::kCounter,
            "time in which some task waited for " + resource);
        readings_.push_back({std::move(*file), &PressureSeconds});
      }
    }
    const std::string_view now = stat_.Text().value_or("");
    (void)meter_.Update(now);
    AddCores(now);
  }

  // The kernel counts CPU time in ticks of 10 ms: shares of less than ten are mostly rounding. And
  // six files a tick would be most of what sampling costs.
  [[nodiscard]] std::int64_t LeastPeriodNs() const override { return 100'000'000; }
  void Read(std::span<double> values) override {
    const std::string_view stat = stat_.Text().value_or("");
    values[0] = meter_.Update(stat);
    const auto switches = FieldOf(stat, "ctxt ");
    values[1] = switches ? static_cast<double>(*switches) : kNoReading;
    for (std::size_t i = 0; i < readings_.size(); ++i) {
      values[2 + i] = readings_[i].convert(readings_[i].file);
    }
    ReadCores(stat, values.subspan(2 + readings_.size()));
  }

 private:
  struct Reading {
    PseudoFile file;
    double (*convert)(PseudoFile&);
  };
  void Add(std::string name, std::string unit, std::string device, MetricKind kind,
           std::string help) {
    AddMetric({.name = std::move(name),
               .unit = std::move(unit),
               .device = std::move(device),
               .kind = kind,
               .help = std::move(help)});
  }

  void AddCores(std::string_view stat) {
    while (const auto core = NextCore(stat)) {
      Add("cpu_utilization", "fraction", fmt::format("cpu-{}", core->core), MetricKind::kGauge,
          "busy share of the core since the last sample, in ticks of 10 ms");
      cores_.push_back({core->core, {}});
      (void)cores_.back().meter.Update(core->times);
    }
  }

  // One pass: the kernel lists cores in the order of their numbers, without those that are offline.
  void ReadCores(std::string_view stat, std::span<double> values) {
    std::fill(values.begin(), values.end(), kNoReading);
    std::size_t next = 0;
    while (const auto now = NextCore(stat)) {
      while (next < cores_.size() && cores_[next].number < now->core) {
        ++next;
      }
      if (next < cores_.size() && cores_[next].number == now->core) {
        values[next] = cores_[next].meter.Update(now->times);
      }
    }
  }

  struct Core {
    int number;
    UtilizationMeter meter;
  };

  PseudoFile stat_;
  UtilizationMeter meter_;
  std::vector<Reading> readings_;  // metrics from the third on
  std::vector<Core> cores_;        // the last metrics
};

}  // namespace

SourceKind::Opened OpenProcfs(const SourceOptions& options) {
  auto stat = PseudoFile::Open(options.root + "/proc/stat");
  if (!stat) {
    return {nullptr, stat.error().message};
  }
  return {std::make_unique<ProcfsSource>(options, std::move(*stat)), {}};
}

}  // namespace reprise
