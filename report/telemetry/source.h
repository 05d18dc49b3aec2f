// Telemetry sources: one per vendor interface; adding one: docs/add_a_source.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metrics.h"
#include "core/records.h"
#include "core/result.h"

namespace reprise {

// Where a source looks. Tests inject a fixture root; nothing below reads the environment.
struct SourceOptions {
  std::string root;  // what comes before "/proc" and "/sys"
  // Whether to report the sampling process's own use of the machine.
  bool own_process = true;
  // Shared library to load in place of a source's usual ones, by the source's name.
  std::map<std::string, std::string> libraries;
  // Metrics of the sources opened before, in the order of builtin.def: what they measure need not
  // be measured again.
  std::span<const Metric> present;
};

// Read by one thread. Read() must take well under a millisecond and never block, unless MayBlock().
class Source {
 public:
  explicit Source(std::string_view name) : name_(name) {}
  virtual ~Source() = default;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Metric>& metrics() const { return metrics_; }
  // The devices that it meters, to match them with compute devices and with other sources.
  [[nodiscard]] const std::vector<MeteredDevice>& devices() const { return devices_; }
  // Read may block in a driver: the sampler then reads the source in a thread of its own.
  [[nodiscard]] virtual bool MayBlock() const { return false; }
  // The shortest period that brings new values. The sampler uses it unless the user sets a period
  // for this source by name.
  [[nodiscard]] virtual std::int64_t LeastPeriodNs() const { return 0; }
  // values[i] belongs to metrics()[i]; NaN where a reading failed (counted by the sampler).
  virtual void Read(std::span<double> values) = 0;

 protected:
  // For the function that opens the source. Both set the source's name.
  Metric& AddMetric(Metric metric) {
    metric.source = name_;
    return metrics_.emplace_back(std::move(metric));
  }
  void AddDevice(MeteredDevice device) {
    device.source = name_;
    devices_.push_back(std::move(device));
  }

 private:
  std::string name_;
  std::vector<Metric> metrics_;
  std::vector<MeteredDevice> devices_;
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

// The source, or none and `why_not` if it has found no metric.
[[nodiscard]] inline SourceKind::Opened OpenedIfAny(std::unique_ptr<Source> source,
                                                    std::string why_not) {
  return source->metrics().empty() ? SourceKind::Opened{nullptr, std::move(why_not)}
                                   : SourceKind::Opened{std::move(source), {}};
}

}  // namespace reprise
