#include "telemetry/sampler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/clock.h"

namespace reprise {
namespace {

// A source that takes longer disturbs what it observes; it is counted.
constexpr std::int64_t kSlowReadingNs = 2'000'000;

std::int64_t ThreadCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

struct Part {
  std::unique_ptr<Source> source;
  std::int32_t first_metric = 0;
  std::int64_t period_ns = 0;
  std::int64_t next_tick = 0;  // due at the start + next_tick x period
  std::vector<double> values;
};

}  // namespace

struct Sampler::Impl {
  // The parts that one thread reads.
  struct Lane {
    std::vector<Part> parts;
    std::thread thread;
  };

  SamplerOptions options;
  std::vector<Lane> lanes = std::vector<Lane>(1);  // the first: of the sources that never block
  std::vector<Metric> metrics;
  std::vector<MeteredDevice> devices;
  std::vector<std::pair<std::string, std::string>> unavailable;
  Diagnostics diagnostics;
  SampleSink sink;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  std::atomic<std::int64_t> cpu_ns = 0;

  void Add(const SourceKind& kind);
  void Read(Part& part, std::vector<Sample>& samples);
  void ReadDue(Lane& lane, std::int64_t elapsed_ns);
  void Loop(Lane& lane);
};

void Sampler::Impl::Add(const SourceKind& kind) {
  options.sources.present = metrics;
  SourceKind::Opened opened = kind.open(options.sources);
  if (!opened.source) {
    unavailable.emplace_back(kind.name, opened.why_not);
    return;
  }
  Part part{.source = std::move(opened.source),
            .first_metric = static_cast<std::int32_t>(metrics.size()),
            .period_ns = options.period_ns};
  part.period_ns = std::max(part.period_ns, part.source->LeastPeriodNs());
  if (const auto own = options.source_periods_ns.find(std::string(kind.name));
      own != options.source_periods_ns.end()) {
    part.period_ns = own->second;
  }
  part.period_ns = std::max<std::int64_t>(part.period_ns, 1);
  for (const Metric& metric : part.source->metrics()) {
    Metric& added = metrics.emplace_back(metric);
    added.id = static_cast<std::int32_t>(metrics.size() - 1);
    added.period_ns = part.period_ns;
  }
  const std::vector<MeteredDevice> found = part.source->devices();
  devices.insert(devices.end(), found.begin(), found.end());
  part.values.resize(part.source->metrics().size());
  if (part.source->MayBlock()) {
    lanes.emplace_back();
    lanes.back().parts.push_back(std::move(part));
  } else {
    lanes.front().parts.push_back(std::move(part));
  }
}

// A failed reading leaves no sample; it is counted, except that nothing that needs a difference can
// have a value at the first tick.
void Sampler::Impl::Read(Part& part, std::vector<Sample>& samples) {
  std::fill(part.values.begin(), part.values.end(), kNoReading);
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
    } else if (part.next_tick > 0) {
      diagnostics.Count("failed_reading", metrics[metric].source + " " + metrics[metric].name +
                                              " of " + metrics[metric].device);
    }
  }
}

// Deadlines are absolute, so that a late tick does not move those after it; ticks that were missed
// altogether are left out and counted.
void Sampler::Impl::ReadDue(Lane& lane, std::int64_t elapsed_ns) {
  std::vector<Sample> samples;
  for (Part& part : lane.parts) {
    const std::int64_t late_ns = elapsed_ns - part.next_tick * part.period_ns;
    if (late_ns < 0) {
      continue;
    }
    const std::int64_t missed = late_ns / part.period_ns;
    if (missed > 0) {
      diagnostics.Count("missed_tick", part.source->name(), static_cast<std::uint64_t>(missed));
    } else if (late_ns > part.period_ns / 2) {
      diagnostics.Count("late_tick", part.source->name());
    }
    Read(part, samples);
    part.next_tick += missed + 1;
  }
  sink(samples);
}

void Sampler::Impl::Loop(Lane& lane) {
  using std::chrono::nanoseconds;
  using std::chrono::steady_clock;  // CLOCK_MONOTONIC, as MonotonicNs
  const auto start = steady_clock::now();
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    ReadDue(lane, nanoseconds(steady_clock::now() - start).count());
    std::int64_t next_ns = std::numeric_limits<std::int64_t>::max();
    for (const Part& part : lane.parts) {
      next_ns = std::min(next_ns, part.next_tick * part.period_ns);
    }
    lock.lock();
    wake.wait_until(lock, start + nanoseconds(next_ns), [this] { return stopping; });
  }
  lock.unlock();
  std::vector<Sample> last;
  for (Part& part : lane.parts) {
    Read(part, last);
  }
  sink(last);
  cpu_ns += ThreadCpuNs();
}

Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Sampler::~Sampler() { Stop(); }

std::unique_ptr<Sampler> Sampler::Open(const SamplerOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  for (const SourceKind& kind : BuiltinSources()) {
    impl->Add(kind);
  }
  std::erase_if(impl->lanes, [](const Impl::Lane& lane) { return lane.parts.empty(); });
  return std::unique_ptr<Sampler>(new Sampler(std::move(impl)));
}

const std::vector<Metric>& Sampler::metrics() const { return impl_->metrics; }

const std::vector<MeteredDevice>& Sampler::devices() const { return impl_->devices; }

const std::vector<std::pair<std::string, std::string>>& Sampler::unavailable() const {
  return impl_->unavailable;
}

void Sampler::Start(SampleSink sink) {
  if (impl_->sink) {
    return;
  }
  impl_->sink = std::move(sink);
  for (Impl::Lane& lane : impl_->lanes) {
    lane.thread = std::thread([impl = impl_.get(), &lane] { impl->Loop(lane); });
  }
}

void Sampler::Stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  for (Impl::Lane& lane : impl_->lanes) {
    if (lane.thread.joinable()) {
      lane.thread.join();
    }
  }
}

std::int64_t Sampler::cpu_ns() const { return impl_->cpu_ns; }

Diagnostics Sampler::diagnostics() const { return impl_->diagnostics; }

}  // namespace reprise
