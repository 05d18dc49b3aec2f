// Times of a CUDA device's events, as MonotonicNs.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "kernels/cuda/cuda_buffer.h"

namespace reprise {

// The interface gives differences of events' times, in float32 milliseconds, so each is measured
// from a reference event whose host time is known. Thread-safe.
class CudaClock {
 public:
  [[nodiscard]] static Result<std::unique_ptr<CudaClock>> Create(
      std::shared_ptr<CudaContext> context);
  ~CudaClock();
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;
  // Of an event that is done.
  [[nodiscard]] Result<std::int64_t> HostNs(CudaHandle event) const;
  // Takes a new reference if the last is older than a second; float32 is exact to 0.06 µs within a
  // second. Call it before the events are recorded.
  [[nodiscard]] Status Refresh();
  // Of all times so far.
  [[nodiscard]] std::int64_t uncertainty_ns() const;

 private:
  struct Reference {
    CudaHandle event = nullptr;
    std::int64_t host_ns = 0;
    std::int64_t uncertainty_ns = 0;
  };
  CudaClock(std::shared_ptr<CudaContext> context, CudaHandle stream)
      : context_(std::move(context)), stream_(stream) {}
  // The tightest of several.
  [[nodiscard]] Result<Reference> Measure() const;

  const std::shared_ptr<CudaContext> context_;
  const CudaHandle stream_;  // used for nothing else
  mutable std::mutex mutex_;
  Reference reference_;
  mutable double longest_ns_ = 0;  // from a reference to an event
};

}  // namespace reprise
