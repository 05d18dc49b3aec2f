// Reads every source of a host at fixed periods.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "telemetry/source.h"

namespace reprise {

struct SamplerOptions {
  std::int64_t period_ns = 20'000'000;
  std::map<std::string, std::int64_t> source_periods_ns;  // of sources with one of their own
  SourceOptions sources;
};

// Called from the sampler's threads with one tick's samples of some sources. Must not block, and be
// thread-safe.
using SampleSink = std::function<void(const std::vector<Sample>&)>;

class Sampler {
 public:
  // Opens every registered source that has something here. Sources that read files share a thread,
  // each that may block has its own.
  static std::unique_ptr<Sampler> Open(const SamplerOptions& options);
  ~Sampler();
  [[nodiscard]] const std::vector<Metric>& metrics() const;  // metrics()[i].id == i
  [[nodiscard]] const std::vector<MeteredDevice>& devices() const;
  // Source name → why it is not used here.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& unavailable() const;
  void Start(SampleSink sink);
  void Stop();  // takes a last sample; idempotent
  // CPU time of the sampler's threads; complete after Stop.
  [[nodiscard]] std::int64_t cpu_ns() const;
  // Late or failed readings: counted.
  [[nodiscard]] Diagnostics diagnostics() const;

 private:
  struct Impl;
  explicit Sampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise
