// Memory of a CUDA device.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/driver.h"
#include "kernels/torch/adopting_buffer.h"

namespace reprise {

// A device's context, which is the one that PyTorch uses, too. Thread-safe.
class CudaContext {
 public:
  // Environment error where the device can't be used.
  [[nodiscard]] static Result<std::shared_ptr<CudaContext>> Create(const CudaDriver& driver,
                                                                   int index);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  // The interface's functions, for the calling thread: it uses this context from now on.
  [[nodiscard]] const CudaDriver& Use() const;
  [[nodiscard]] Status Check(int code, std::string_view what) const {
    return driver_.Check(code, what);
  }

  // An event that is not in use, and back.
  [[nodiscard]] Result<CudaHandle> TakeEvent(bool with_time);
  void GiveBack(CudaHandle event, bool with_time);

 private:
  CudaContext(const CudaDriver& driver, int device, CudaHandle context)
      : driver_(driver), device_(device), context_(context) {}

  const CudaDriver& driver_;
  const int device_;
  const CudaHandle context_;
  std::mutex mutex_;
  std::vector<CudaHandle> events_[2];  // not in use; with time: the second
};

// Results that are freed on the host while streams may still read them. PyTorch's allocator gives
// freed memory to the next result of the stream that allocated it, so another stream's reads have
// to be over first. Thread-safe.
class ResultsInUse {
 public:
  explicit ResultsInUse(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}
  ~ResultsInUse();
  ResultsInUse(const ResultsInUse&) = delete;
  ResultsInUse& operator=(const ResultsInUse&) = delete;
  // Frees `owner` when what `streams` were given so far is done; at once if there are none.
  void FreeAfter(const std::vector<CudaHandle>& streams, std::shared_ptr<void> owner);

 private:
  struct Waiting {
    std::vector<CudaHandle> events;
    std::shared_ptr<void> owner;
  };
  [[nodiscard]] bool IsDone(Waiting& waiting);

  const std::shared_ptr<CudaContext> context_;
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
};

class CudaBytes;

// Its own bytes are allocated, as zeros, when they are first needed: a storage that is always a
// library's result takes none.
class CudaBuffer final : public AdoptingBuffer {
 public:
  // `results`: null where no library supplies results; there are no aliases then.
  [[nodiscard]] static Result<std::unique_ptr<CudaBuffer>> Make(
      std::int64_t bytes, std::shared_ptr<CudaContext> context,
      std::shared_ptr<ResultsInUse> results);
  [[nodiscard]] std::byte* host_data() override { return nullptr; }
  [[nodiscard]] std::unique_ptr<Buffer> Alias(bool only_tasks) override;
  // What was enqueued on `stream` uses it. Thread-safe.
  void UsedOn(CudaHandle stream) const;

 private:
  using AdoptingBuffer::AdoptingBuffer;
};

}  // namespace reprise
