// One thread per host that reads every source at a fixed period.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "telemetry/source.h"

namespace reprise {

struct SamplerOptions {
  std::int64_t period_ns = 20'000'000;
  SourceOptions sources;
};

// Called from the sampler's thread with one tick's samples. Must not block.
using SampleSink = std::function<void(const std::vector<Sample>&)>;

class Sampler {
 public:
  // Opens every registered source that has something here; the `model` source only if no energy
  // or power metric was found.
  static std::unique_ptr<Sampler> Open(const SamplerOptions& options);
  ~Sampler();
  [[nodiscard]] const std::vector<MetricSpec>& metrics() const;
  // Source name → why it is not used here.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& unavailable() const;
  void Start(SampleSink sink);
  void Stop();  // takes a last sample; idempotent
  // Late or failed readings: counted.
  [[nodiscard]] Diagnostics diagnostics() const;

 private:
  struct Impl;
  explicit Sampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Energy between two times from samples of one metric: counter → difference (wraps handled by the
// source), power → trapezoidal integral. NaN if fewer than two samples fall into the interval.
[[nodiscard]] double EnergyJoules(const MetricSpec& metric, const std::vector<Sample>& samples,
                                  std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace reprise
