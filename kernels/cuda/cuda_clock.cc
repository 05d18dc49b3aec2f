#include "kernels/cuda/cuda_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"

namespace reprise {
namespace {

constexpr int kMeasurements = 8;
constexpr std::int64_t kRefreshAfterNs = 1'000'000'000;
constexpr double kNsPerMs = 1e6;
// Of events' times (cuEventElapsedTime).
constexpr std::int64_t kEventResolutionNs = 500;
constexpr double kFloatError = 1.0 / (1 << 24);

}  // namespace

Result<std::unique_ptr<CudaClock>> CudaClock::Create(std::shared_ptr<CudaContext> context) {
  CudaHandle stream = nullptr;
  REPRISE_TRY(context->Check(context->Use().create_stream(&stream, kCudaOwnQueue),
                             "creating the clock's stream"));
  std::unique_ptr<CudaClock> clock(new CudaClock(std::move(context), stream));
  REPRISE_ASSIGN(clock->reference_, clock->Measure());
  return clock;
}

CudaClock::~CudaClock() {
  if (reference_.event != nullptr) {
    context_->GiveBack(reference_.event, true);
  }
  (void)context_->Use().destroy_stream(stream_);
}

Result<CudaClock::Reference> CudaClock::Measure() const {
  const CudaDriver& cuda = context_->Use();
  Reference best;
  for (int i = 0; i < kMeasurements; ++i) {
    REPRISE_ASSIGN(const CudaHandle event, context_->TakeEvent(true));
    const std::int64_t before_ns = MonotonicNs();
    int code = cuda.record_event(event, stream_);
    code = code == 0 ? cuda.finish_event(event) : code;
    const std::int64_t half_ns = (MonotonicNs() - before_ns) / 2;
    REPRISE_TRY(context_->Check(code, "measuring the device's clock"));
    const bool better = best.event == nullptr || half_ns + 1 < best.uncertainty_ns;
    const CudaHandle other = better ? best.event : event;
    if (better) {
      best = {event, before_ns + half_ns, half_ns + 1};
    }
    if (other != nullptr) {
      context_->GiveBack(other, true);
    }
  }
  return best;
}

Result<std::int64_t> CudaClock::HostNs(CudaHandle event) const {
  const std::lock_guard lock(mutex_);
  float ms = 0;
  REPRISE_TRY(context_->Check(context_->Use().elapsed_ms(&ms, reference_.event, event),
                              "reading an event's time"));
  const double since_ns = static_cast<double>(ms) * kNsPerMs;
  longest_ns_ = std::max(longest_ns_, std::abs(since_ns));
  return reference_.host_ns + std::llround(since_ns);
}

Status CudaClock::Refresh() {
  const std::lock_guard lock(mutex_);
  if (MonotonicNs() - reference_.host_ns < kRefreshAfterNs) {
    return {};
  }
  REPRISE_ASSIGN(const Reference now, Measure());
  context_->GiveBack(reference_.event, true);
  reference_ = now;
  return {};
}

std::int64_t CudaClock::uncertainty_ns() const {
  const std::lock_guard lock(mutex_);
  return reference_.uncertainty_ns + kEventResolutionNs + std::llround(longest_ns_ * kFloatError);
}

}  // namespace reprise
