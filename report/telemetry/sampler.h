// Reads every source of a host at fixed periods.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/diagnostics.h"
#include "report/telemetry/source.h"

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
  ~Sampler() { Stop(); }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  [[nodiscard]] const std::vector<Metric>& metrics() const { return metrics_; }  // [i].id == i
  [[nodiscard]] const std::vector<MeteredDevice>& devices() const { return devices_; }
  // Source name → why it is not used here.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& unavailable() const {
    return unavailable_;
  }
  void Start(SampleSink sink);
  void Stop();  // takes a last sample; idempotent
  // CPU time of the sampler's threads; complete after Stop.
  [[nodiscard]] std::int64_t cpu_ns() const { return cpu_ns_; }
  // Late or failed readings: counted.
  [[nodiscard]] Diagnostics diagnostics() const { return diagnostics_; }

 private:
  struct Part {
    std::unique_ptr<Source> source;
    std::int32_t first_metric = 0;
    std::int64_t period_ns = 0;
    std::int64_t next_tick = 0;  // due at the start + next_tick x period
    std::vector<double> values = {};
  };
  // The parts that one thread reads.
  struct Lane {
    std::vector<Part> parts;
    std::thread thread;
  };

  explicit Sampler(const SamplerOptions& options) : options_(options) {}
  void Add(const SourceKind& kind);
  void Read(Part& part, std::vector<Sample>& samples);
  void ReadDue(Lane& lane, std::int64_t elapsed_ns);
  void Loop(Lane& lane);

  SamplerOptions options_;
  std::vector<Lane> lanes_ = std::vector<Lane>(1);  // the first: of the sources that never block
  std::vector<Metric> metrics_;
  std::vector<MeteredDevice> devices_;
  std::vector<std::pair<std::string, std::string>> unavailable_;
  Diagnostics diagnostics_;
  SampleSink sink_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::atomic<std::int64_t> cpu_ns_ = 0;
};

}  // namespace reprise
