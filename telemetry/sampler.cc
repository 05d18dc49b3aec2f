#include "telemetry/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/clock.h"

namespace reprise {
namespace {

constexpr std::string_view kModelSource = "model";
// A source that takes longer disturbs what it observes; it is counted.
constexpr std::int64_t kSlowReadingNs = 2'000'000;

bool MeasuresEnergy(const MetricSpec& metric) {
  return metric.unit == "joules" || metric.unit == "watts";
}

}  // namespace

struct Sampler::Impl {
  struct Part {
    std::unique_ptr<Source> source;
    std::int32_t first_metric = 0;
    std::vector<double> values;
  };

  std::int64_t period_ns = 0;
  std::vector<Part> parts;
  std::vector<MetricSpec> metrics;
  std::vector<std::pair<std::string, std::string>> unavailable;
  Diagnostics diagnostics;
  SampleSink sink;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  std::thread thread;

  void Add(const SourceKind& kind, const SourceOptions& options) {
    SourceKind::Opened opened = kind.open(options);
    if (!opened.source) {
      unavailable.emplace_back(kind.name, opened.why_not);
      return;
    }
    const std::vector<MetricSpec>& added = opened.source->metrics();
    const auto first = static_cast<std::int32_t>(metrics.size());
    metrics.insert(metrics.end(), added.begin(), added.end());
    std::vector<double> values(added.size());
    parts.push_back({std::move(opened.source), first, std::move(values)});
  }

  void Tick(bool first);
  void Loop();
};

// A failed reading leaves no sample; it is counted, except that nothing that needs a difference can
// have a value at the first tick.
void Sampler::Impl::Tick(bool first) {
  std::vector<Sample> samples;
  samples.reserve(metrics.size());
  for (Part& part : parts) {
    std::fill(part.values.begin(), part.values.end(), std::numeric_limits<double>::quiet_NaN());
    const std::int64_t before_ns = MonotonicNs();
    part.source->Read(part.values);
    const std::int64_t took_ns = MonotonicNs() - before_ns;
    if (took_ns > kSlowReadingNs) {
      diagnostics.Count("slow_reading", part.source->name());
    }
    for (std::size_t i = 0; i < part.values.size(); ++i) {
      const auto metric = part.first_metric + static_cast<std::int32_t>(i);
      if (!std::isnan(part.values[i])) {
        samples.push_back(
            {.metric = metric, .time_ns = before_ns + took_ns / 2, .value = part.values[i]});
      } else if (!first) {
        diagnostics.Count("failed_reading", metrics[metric].source + " " + metrics[metric].name +
                                                " of " + metrics[metric].device);
      }
    }
  }
  sink(samples);
}

// Deadlines are absolute, so that a late tick does not move those after it; ticks that were missed
// altogether are left out and counted.
void Sampler::Impl::Loop() {
  using std::chrono::nanoseconds;
  using std::chrono::steady_clock;  // CLOCK_MONOTONIC, as MonotonicNs
  const auto start = steady_clock::now();
  std::int64_t tick = 0;
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    Tick(tick == 0);
    const std::int64_t elapsed_ns = nanoseconds(steady_clock::now() - start).count();
    const std::int64_t next = std::max(tick + 1, elapsed_ns / period_ns + 1);
    if (next > tick + 1) {
      diagnostics.Count("missed_tick", {}, static_cast<std::uint64_t>(next - tick - 1));
    }
    tick = next;
    lock.lock();
    const auto deadline = start + nanoseconds(tick * period_ns);
    wake.wait_until(lock, deadline, [this] { return stopping; });
    if (!stopping && nanoseconds(steady_clock::now() - deadline).count() > period_ns / 2) {
      diagnostics.Count("late_tick");
    }
  }
  lock.unlock();
  Tick(tick == 0);  // the last sample
}

Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Sampler::~Sampler() { Stop(); }

std::unique_ptr<Sampler> Sampler::Open(const SamplerOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->period_ns = std::max<std::int64_t>(options.period_ns, 1);
  for (const SourceKind& kind : BuiltinSources()) {
    if (kind.name != kModelSource) {
      impl->Add(kind, options.sources);
    }
  }
  const bool measured = std::any_of(impl->metrics.begin(), impl->metrics.end(), MeasuresEnergy);
  for (const SourceKind& kind : BuiltinSources()) {
    if (kind.name != kModelSource) {
      continue;
    }
    if (measured) {
      impl->unavailable.emplace_back(kind.name, "not needed: power or energy is measured here");
    } else {
      impl->Add(kind, options.sources);
    }
  }
  return std::unique_ptr<Sampler>(new Sampler(std::move(impl)));
}

const std::vector<MetricSpec>& Sampler::metrics() const { return impl_->metrics; }

const std::vector<std::pair<std::string, std::string>>& Sampler::unavailable() const {
  return impl_->unavailable;
}

void Sampler::Start(SampleSink sink) {
  if (impl_->thread.joinable()) {
    return;
  }
  impl_->sink = std::move(sink);
  impl_->stopping = false;
  impl_->thread = std::thread([impl = impl_.get()] { impl->Loop(); });
}

void Sampler::Stop() {
  if (!impl_->thread.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->thread.join();
}

Diagnostics Sampler::diagnostics() const { return impl_->diagnostics; }

}  // namespace reprise
