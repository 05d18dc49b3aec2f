// What a Prometheus server reads.
#include "report/telemetry/prometheus_text.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(PrometheusText, GaugesCountersStatesAndEscapes) {
  const std::vector<Metric> metrics = {
      {.id = 0,
       .name = "power",
       .unit = "watts",
       .device = "gpu-0",
       .source = "nvml",
       .help = "now"},
      {.id = 1,
       .name = "package_energy",
       .unit = "joules",
       .device = "package-0",
       .source = "rapl",
       .kind = MetricKind::kEnergy,
       .help = "of a \\ package\nall"},
      {.id = 2,
       .name = "power",
       .unit = "watts",
       .device = "cpu \"0\"",
       .source = "model",
       .modelled = true,
       .help = "other"},
      {.id = 3,
       .name = "throttle_reasons",
       .unit = "count",
       .device = "gpu-0",
       .source = "nvml",
       .kind = MetricKind::kState,
       .states = "power_cap,,thermal",
       .help = "why"},
      {.id = 4,
       .name = "cpu_utilization",
       .unit = "fraction",
       .device = "host",
       .source = "procfs",
       .help = "busy"},
      {.id = 5, .name = "silent", .unit = "celsius", .device = "d", .source = "s", .help = "h"}};
  RecentSamples recent(10);
  const std::vector<Sample> samples = {{0, 1, 250.5}, {1, 1, 1e6}, {2, 1, 7},
                                       {3, 1, 4},     {4, 1, 0.5}, {0, 2, 251}};
  recent.Add(samples);
  EXPECT_EQ(PrometheusText(metrics, recent, "node\"1"),
            R"(# HELP reprise_cpu_utilization_ratio busy
# TYPE reprise_cpu_utilization_ratio gauge
reprise_cpu_utilization_ratio{device="host",host="node\"1",source="procfs"} 0.5
# HELP reprise_package_energy_joules_total of a \\ package\nall
# TYPE reprise_package_energy_joules_total counter
reprise_package_energy_joules_total{device="package-0",host="node\"1",source="rapl"} 1000000
# HELP reprise_power_watts now
# TYPE reprise_power_watts gauge
reprise_power_watts{device="gpu-0",host="node\"1",source="nvml"} 251
reprise_power_watts{device="cpu \"0\"",host="node\"1",source="model",modelled="true"} 7
# HELP reprise_throttle_reasons why
# TYPE reprise_throttle_reasons gauge
reprise_throttle_reasons{device="gpu-0",host="node\"1",source="nvml",state="power_cap"} 0
reprise_throttle_reasons{device="gpu-0",host="node\"1",source="nvml",state="thermal"} 1
)");
}

}  // namespace
}  // namespace reprise
