// CPU power as a straight line over utilisation: an estimate, labelled so wherever it is shown. Not
// a measurement; good for telling a busy run from an idle one, not for comparing machines.
#include <fmt/format.h>

#include <vector>

#include "report/telemetry/cpu_times.h"
#include "report/telemetry/pseudo_file.h"
#include "report/telemetry/source.h"

namespace reprise {
namespace {

// Data sheets of server and desktop parts lie between 2 and 7 W of TDP per logical CPU; idle
// machines take roughly a quarter of that.
constexpr double kFullWattsPerCpu = 4.0;
constexpr double kIdleWattsPerCpu = 1.0;

class ModelSource : public Source {
 public:
  explicit ModelSource(PseudoFile stat) : Source("model"), stat_(std::move(stat)) {
    const std::string_view text = stat_.Text().value_or("");
    cpus_ = CountCpus(text);
    (void)meter_.Update(text);
    AddMetric({.name = "cpu_power",
               .unit = "watts",
               .device = "cpu",
               .modelled = true,
               .help = fmt::format("MODELLED: {} CPUs x ({} W idle + {} W x utilisation)", cpus_,
                                   kIdleWattsPerCpu, kFullWattsPerCpu - kIdleWattsPerCpu)});
  }

  void Read(std::span<double> values) override {
    const double utilization = meter_.Update(stat_.Text().value_or(""));
    values[0] = cpus_ * (kIdleWattsPerCpu + (kFullWattsPerCpu - kIdleWattsPerCpu) * utilization);
  }

 private:
  PseudoFile stat_;
  UtilizationMeter meter_;
  int cpus_ = 0;
};

// "amdgpu/PPT": power of a GPU, which says nothing of the CPU's.
bool IsGpuSensor(std::string_view device) {
  const std::string_view chip = device.substr(0, device.find('/'));
  return chip == "amdgpu" || chip == "nouveau" || chip == "xe" || chip == "i915";
}

}  // namespace

SourceKind::Opened OpenModel(const SourceOptions& options) {
  for (const Metric& metric : options.present) {
    if ((metric.source == "rapl" || (metric.source == "hwmon" && !IsGpuSensor(metric.device))) &&
        MeasuresEnergy(metric)) {
      return {nullptr, "not needed: " + metric.source + " measures power or energy here"};
    }
  }
  auto stat = PseudoFile::Open(options.root + "/proc/stat");
  if (!stat) {
    return {nullptr, stat.error().message};
  }
  if (CountCpus(stat->Text().value_or("")) == 0) {
    return {nullptr, options.root + "/proc/stat: lists no CPUs"};
  }
  return {std::make_unique<ModelSource>(std::move(*stat)), {}};
}

}  // namespace reprise
