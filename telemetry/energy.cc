#include "core/energy.h"

#include "telemetry/sampler.h"

namespace reprise {

double EnergyJoules(const MetricSpec& metric, const std::vector<Sample>& samples,
                    std::int64_t begin_ns, std::int64_t end_ns) {
  const EnergyKind kind =
      metric.unit == "watts" ? EnergyKind::kPowerWatts : EnergyKind::kCounterJoules;
  return IntegrateEnergyJoules(kind, samples, begin_ns, end_ns);
}

}  // namespace reprise
