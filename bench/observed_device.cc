#include "bench/observed_device.h"

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
    const std::int64_t begin_ns = MonotonicNs();
    Status status = real_ == nullptr ? Status{} : real_->Enqueue(launch);
    observed_.Enqueued(begin_ns);
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
  first_enqueue_ns = last_enqueue_ns = enqueues = waits_between = waits = 0;
}

void Observed::Enqueued(std::int64_t begin_ns) {
  std::int64_t none = 0;
  first_enqueue_ns.compare_exchange_strong(none, begin_ns);
  last_enqueue_ns.store(MonotonicNs(), std::memory_order_relaxed);
  enqueues.fetch_add(1, std::memory_order_relaxed);
  waits_between.store(waits.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Result<std::unique_ptr<Stream>> ObservedDevice::CreateStream(bool profiling) {
  std::unique_ptr<Stream> real;
  if (forward_) {
    REPRISE_ASSIGN(real, real_.CreateStream(profiling));
  }
  return std::make_unique<ObservedStream>(std::move(real), observed_);
}

}  // namespace reprise
