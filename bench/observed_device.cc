#include "bench/observed_device.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/clock.h"

namespace reprise {
namespace {

class ObservedEvent final : public Event {
 public:
  ObservedEvent(EventPtr real, Observed& observed) : real_(std::move(real)), observed_(observed) {}
  [[nodiscard]] bool IsDone() const override { return real_ == nullptr || real_->IsDone(); }
  [[nodiscard]] Status Wait() const override {
    observed_.waits.fetch_add(1, std::memory_order_relaxed);
    return real_ == nullptr ? Status{} : real_->Wait();
  }
  [[nodiscard]] const EventPtr& real() const { return real_; }

 private:
  EventPtr real_;
  Observed& observed_;
};

class ObservedStream final : public Stream {
 public:
  ObservedStream(std::unique_ptr<Stream> real, Observed& observed)
      : real_(std::move(real)), observed_(observed) {}

  [[nodiscard]] Status Enqueue(const PreparedLaunch& launch) override {
    Status status = real_ == nullptr ? Status{} : real_->Enqueue(launch);
    observed_.Enqueued();
    ++untimed_;
    return status;
  }
  [[nodiscard]] Status WaitFor(std::span<const EventPtr> events) override {
    std::vector<EventPtr> real;
    for (const EventPtr& event : events) {
      if (const EventPtr& inner = static_cast<const ObservedEvent&>(*event).real()) {
        real.push_back(inner);
      }
    }
    return real.empty() ? Status{} : real_->WaitFor(real);
  }
  [[nodiscard]] Result<EventPtr> Record() override {
    EventPtr real;
    if (real_ != nullptr) {
      REPRISE_ASSIGN(real, real_->Record());
    }
    return std::make_shared<ObservedEvent>(std::move(real), observed_);
  }
  [[nodiscard]] Status Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                              std::int64_t bytes) override {
    return real_ == nullptr ? Status{} : real_->Upload(dst, offset_bytes, src, bytes);
  }
  [[nodiscard]] Status Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                                std::int64_t bytes) override {
    return real_ == nullptr ? Status{} : real_->Download(dst, src, offset_bytes, bytes);
  }
  [[nodiscard]] Status Flush() override { return real_ == nullptr ? Status{} : real_->Flush(); }
  [[nodiscard]] Status Finish() override {
    observed_.waits.fetch_add(1, std::memory_order_relaxed);
    return real_ == nullptr ? Status{} : real_->Finish();
  }
  [[nodiscard]] Result<std::vector<Times>> TakeTimes() override {
    const std::size_t count = std::exchange(untimed_, 0);
    return real_ == nullptr ? std::vector<Times>(count) : real_->TakeTimes();
  }

 private:
  std::unique_ptr<Stream> real_;
  Observed& observed_;
  std::size_t untimed_ = 0;
};

}  // namespace

void Observed::Reset() {
  last_enqueue_ns = enqueues = waits = waits_between = 0;
  thread = 0;
  first_cpu_ns = first_enqueue = last_cpu_ns = last_enqueue = 0;
}

void Observed::Enqueued() {
  constexpr std::int64_t kEvery = 50;
  waits_between.store(waits.load(std::memory_order_relaxed), std::memory_order_relaxed);
  const std::int64_t count = enqueues.fetch_add(1, std::memory_order_relaxed);
  if (count % kEvery != 0) {
    return;
  }
  last_enqueue_ns = MonotonicNs();
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  last_cpu_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  last_enqueue = count;
  const int self = gettid();
  if (thread.exchange(self) != self) {
    first_cpu_ns = last_cpu_ns.load();
    first_enqueue = count;
  }
}

double Observed::CpuNsPerEnqueue() const {
  return static_cast<double>(last_cpu_ns - first_cpu_ns) /
         static_cast<double>(std::max<std::int64_t>(last_enqueue - first_enqueue, 1));
}

Result<std::unique_ptr<Stream>> ObservedDevice::CreateStream(bool profiling) {
  std::unique_ptr<Stream> real;
  if (forward_) {
    REPRISE_ASSIGN(real, real_.CreateStream(profiling));
  }
  return std::make_unique<ObservedStream>(std::move(real), observed_);
}

}  // namespace reprise
