#include "report/telemetry/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

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

}  // namespace

void Sampler::Add(const SourceKind& kind) {
  options_.sources.present = metrics_;
  SourceKind::Opened opened = kind.open(options_.sources);
  if (!opened.source) {
    unavailable_.emplace_back(kind.name, opened.why_not);
    return;
  }
  Part part{.source = std::move(opened.source),
            .first_metric = static_cast<std::int32_t>(metrics_.size()),
            .period_ns = options_.period_ns};
  part.period_ns = std::max(part.period_ns, part.source->LeastPeriodNs());
  if (const auto own = options_.source_periods_ns.find(std::string(kind.name));
      own != options_.source_periods_ns.end()) {
    part.period_ns = own->second;
  }
  part.period_ns = std::max<std::int64_t>(part.period_ns, 1);
  for (const Metric& metric : part.source->metrics()) {
    Metric& added = metrics_.emplace_back(metric);
    added.id = static_cast<std::int32_t>(metrics_.size() - 1);
    added.period_ns = part.period_ns;
  }
  const std::vector<MeteredDevice> found = part.source->devices();
  devices_.insert(devices_.end(), found.begin(), found.end());
  part.values.resize(part.source->metrics().size());
  if (part.source->MayBlock()) {
    lanes_.emplace_back();
    lanes_.back().parts.push_back(std::move(part));
  } else {
    lanes_.front().parts.push_back(std::move(part));
  }
}

// A failed reading leaves no sample; it is counted, except that nothing that needs a difference can
// have a value at the first tick.
void Sampler::Read(Part& part, std::vector<Sample>& samples) {
  std::fill(part.values.begin(), part.values.end(), kNoReading);
  const std::int64_t before_ns = MonotonicNs();
  part.source->Read(part.values);
  const std::int64_t took_ns = MonotonicNs() - before_ns;
  if (took_ns > kSlowReadingNs) {
    diagnostics_.Count("slow_reading", part.source->name());
  }
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    const auto metric = part.first_metric + static_cast<std::int32_t>(i);
    if (!std::isnan(part.values[i])) {
      samples.push_back(
          {.metric = metric, .time_ns = before_ns + took_ns / 2, .value = part.values[i]});
    } else if (part.next_tick > 0) {
      diagnostics_.Count("failed_reading", metrics_[metric].source + " " + metrics_[metric].name +
                                               " of " + metrics_[metric].device);
    }
  }
}

// Deadlines are absolute, so that a late tick does not move those after it; ticks that were missed
// altogether are left out and counted.
void Sampler::ReadDue(Lane& lane, std::int64_t elapsed_ns) {
  std::vector<Sample> samples;
  for (Part& part : lane.parts) {
    const std::int64_t late_ns = elapsed_ns - part.next_tick * part.period_ns;
    if (late_ns < 0) {
      continue;
    }
    const std::int64_t missed = late_ns / part.period_ns;
    if (missed > 0) {
      diagnostics_.Count("missed_tick", part.source->name(), static_cast<std::uint64_t>(missed));
    } else if (late_ns > part.period_ns / 2) {
      diagnostics_.Count("late_tick", part.source->name());
    }
    Read(part, samples);
    part.next_tick += missed + 1;
  }
  sink_(samples);
}

void Sampler::Loop(Lane& lane) {
  using std::chrono::nanoseconds;
  using std::chrono::steady_clock;  // CLOCK_MONOTONIC, as MonotonicNs
  const auto start = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    ReadDue(lane, nanoseconds(steady_clock::now() - start).count());
    std::int64_t next_ns = std::numeric_limits<std::int64_t>::max();
    for (const Part& part : lane.parts) {
      next_ns = std::min(next_ns, part.next_tick * part.period_ns);
    }
    lock.lock();
    wake_.wait_until(lock, start + nanoseconds(next_ns), [this] { return stopping_; });
  }
  lock.unlock();
  std::vector<Sample> last;
  for (Part& part : lane.parts) {
    Read(part, last);
  }
  sink_(last);
  cpu_ns_ += ThreadCpuNs();
}

std::unique_ptr<Sampler> Sampler::Open(const SamplerOptions& options) {
  std::unique_ptr<Sampler> sampler(new Sampler(options));
  for (const SourceKind& kind : BuiltinSources()) {
    sampler->Add(kind);
  }
  std::erase_if(sampler->lanes_, [](const Lane& lane) { return lane.parts.empty(); });
  return sampler;
}

void Sampler::Start(SampleSink sink) {
  if (sink_) {
    return;
  }
  sink_ = std::move(sink);
  for (Lane& lane : lanes_) {
    lane.thread = std::thread([this, &lane] { Loop(lane); });
  }
}

void Sampler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (Lane& lane : lanes_) {
    if (lane.thread.joinable()) {
      lane.thread.join();
    }
  }
}

}  // namespace reprise
