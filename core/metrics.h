// What a column of samples means, and what device it belongs to.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

namespace reprise {

enum class MetricKind : std::uint8_t {
  kGauge,    // the value at the time of reading
  kCounter,  // a growing total: only differences mean something
  kEnergy,   // a growing total of joules
  kState,    // conditions that hold or not, one bit each (Metric::states)
};
REPRISE_NAMES(MetricKind, "gauge", "counter", "energy", "state");
[[nodiscard]] constexpr bool IsTotal(MetricKind kind) {
  return kind == MetricKind::kCounter || kind == MetricKind::kEnergy;
}

struct Metric {
  std::int32_t id = 0;   // what samples name; numbered by the sampler
  std::string name;      // "package_energy", "cpu_utilization", "temperature"
  std::string unit;      // "joules", "watts", "celsius", "hertz", "bytes", …: docs/run_format.md
  std::string device;    // "package-0", "cpu", "host", "gpu-0000:01:00.0"
  std::string source{};  // name of the telemetry source: "rapl", "procfs", "model"
  MetricKind kind = MetricKind::kGauge;
  bool modelled = false;  // not measured: must be labelled wherever shown
  std::string states;     // kState: the bits' names, lowest first, with commas; empty: no meaning
  std::string help;
  std::int64_t period_ns = 0;  // between readings, as asked for; set by the sampler
};

// The value of a metric that could not be read.
inline constexpr double kNoReading = std::numeric_limits<double>::quiet_NaN();

// What the bits of a state metric mean, lowest first: the names between the commas, which may be
// empty. Views into `states`; none for "".
[[nodiscard]] std::vector<std::string_view> StateNames(std::string_view states);

// Power or energy that flows; what a limit allows is none.
[[nodiscard]] bool MeasuresEnergy(const Metric& metric);

// A physical device that a source reads, so that compute devices can be tied to their meters and
// nothing is counted twice. What is not known is empty.
struct MeteredDevice {
  std::string device;  // as Metric::device
  std::string source{};
  std::string name;        // "NVIDIA H100 80GB HBM3"
  std::string uuid;        // lower-case hexadecimal with dashes, without prefix (UuidText)
  std::string pci_bus_id;  // "0000:01:00.0", lower case
};

// Whether it reads the compute device of this UUID or, where one of them has none, PCI bus id.
[[nodiscard]] bool IsMeterOf(const MeteredDevice& meter, std::string_view uuid,
                             std::string_view pci_bus_id);

// The one spelling of a UUID of 16 bytes: "8-4-4-4-12" digits.
[[nodiscard]] std::string UuidText(const unsigned char (&bytes)[16]);
// The same from a vendor's text, "GPU-8D2C…"; empty if it holds no 32 hexadecimal digits.
[[nodiscard]] std::string NormalizeUuid(std::string_view text);
// "00000000:01:00.0" and "0000:01:00.0" alike; empty if it is no bus id.
[[nodiscard]] std::string NormalizePciBusId(std::string_view text);

}  // namespace reprise
