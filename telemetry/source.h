// Telemetry sources: one per vendor interface; adding one: docs/add_a_source.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "core/result.h"

namespace reprise {

// What one column of samples means.
struct MetricSpec {
  std::string name;         // "package_energy", "cpu_utilization", "temperature"
  std::string unit;         // "joules" (counter), "watts", "celsius", "hertz", "fraction", "bytes"
  std::string device;       // "package-0", "cpu", "host", "gpu-0000:01:00.0"
  std::string source;       // name of the Source: "rapl", "procfs", "model"
  bool is_counter = false;  // monotonically increasing total; differences are meaningful
  bool modelled = false;    // not measured: must be labelled wherever shown
  std::string help;
};

// Where a source looks. Tests inject a fixture root; nothing below reads the environment.
struct SourceOptions {
  std::string root;  // what comes before "/proc" and "/sys"
};

// Read by one thread. Read() must take well under a millisecond and never block.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual const std::vector<MetricSpec>& metrics() const = 0;
  // values[i] belongs to metrics()[i]; NaN where a reading failed (counted by the sampler).
  virtual void Read(std::span<double> values) = 0;
};

// One registered kind of source (builtin.def). Create: null pointer with a reason (not an error)
// where the machine has nothing for it: "no /sys/class/powercap", "permission denied: … (chmod)".
struct SourceKind {
  std::string_view name;
  std::string_view help;
  struct Opened {
    std::unique_ptr<Source> source;
    std::string why_not;  // set if source is null
  };
  Opened (*open)(const SourceOptions&);
};
[[nodiscard]] std::span<const SourceKind> BuiltinSources();

}  // namespace reprise
