#include "kernels/cuda/cuda_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace reprise {

Result<std::shared_ptr<CudaContext>> CudaContext::Create(const CudaDriver& driver, int index) {
  int device = 0;
  CudaHandle context = nullptr;
  const std::string what = fmt::format("opening CUDA device {}", index);
  REPRISE_TRY(driver.Check(driver.device(&device, index), what));
  REPRISE_TRY(driver.Check(driver.retain_context(&context, device), what));
  return std::shared_ptr<CudaContext>(new CudaContext(driver, device, context));
}

CudaContext::~CudaContext() {
  const CudaDriver& cuda = Use();
  for (const auto& events : events_) {
    for (const CudaHandle event : events) {
      (void)cuda.destroy_event(event);
    }
  }
  (void)driver_.release_context(device_);
}

// PyTorch may have changed the thread's context since the last call.
const CudaDriver& CudaContext::Use() const {
  (void)driver_.use_context(context_);  // what follows fails if this does
  return driver_;
}

Result<CudaHandle> CudaContext::TakeEvent(bool with_time) {
  {
    const std::lock_guard lock(mutex_);
    auto& free = events_[with_time ? 1 : 0];
    if (!free.empty()) {
      const CudaHandle event = free.back();
      free.pop_back();
      return event;
    }
  }
  CudaHandle event = nullptr;
  REPRISE_TRY(
      Check(Use().create_event(&event, with_time ? 0 : kCudaWithoutTime), "creating an event"));
  return event;
}

void CudaContext::GiveBack(CudaHandle event, bool with_time) {
  const std::lock_guard lock(mutex_);
  events_[with_time ? 1 : 0].push_back(event);
}

ResultsInUse::~ResultsInUse() {
  const CudaDriver& cuda = context_->Use();
  for (Waiting& waiting : waiting_) {
    for (const CudaHandle event : waiting.events) {
      (void)cuda.finish_event(event);
      context_->GiveBack(event, false);
    }
  }
}

bool ResultsInUse::IsDone(Waiting& waiting) {
  const CudaDriver& cuda = context_->Use();
  while (!waiting.events.empty()) {
    if (cuda.query_event(waiting.events.back()) == kCudaNotReady) {
      return false;
    }
    context_->GiveBack(waiting.events.back(), false);
    waiting.events.pop_back();
  }
  return true;
}

void ResultsInUse::FreeAfter(const std::vector<CudaHandle>& streams, std::shared_ptr<void> owner) {
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && IsDone(waiting_.front())) {
    waiting_.pop_front();
  }
  Waiting waiting{.events = {}, .owner = std::move(owner)};
  const CudaDriver& cuda = context_->Use();
  for (const CudaHandle stream : streams) {
    const auto event = context_->TakeEvent(false);
    if (!event || cuda.record_event(*event, stream) != 0) {
      (void)cuda.finish_stream(stream);  // a failed device: the next command says so
      continue;
    }
    waiting.events.push_back(*event);
  }
  if (!waiting.events.empty()) {
    waiting_.push_back(std::move(waiting));
  }
}

class CudaBytes final : public AdoptingMemory {
 public:
  CudaBytes(std::int64_t bytes, std::shared_ptr<CudaContext> context,
            std::shared_ptr<ResultsInUse> results)
      : AdoptingMemory(bytes),
        bytes_(bytes),
        context_(std::move(context)),
        results_(std::move(results)) {}
  ~CudaBytes() override {
    if (address_ != 0) {
      (void)context_->Use().free(address_);
    }
  }
  [[nodiscard]] bool has_aliases() const { return results_ != nullptr; }
  [[nodiscard]] Result<std::byte*> Own() override;
  void Free(AdoptedBytes result) override;
  void UsedOn(CudaHandle stream);

 private:
  const std::int64_t bytes_;
  const std::shared_ptr<CudaContext> context_;
  const std::shared_ptr<ResultsInUse> results_;
  std::mutex mutex_;
  CudaAddress address_ = 0;
  std::vector<CudaHandle> used_on_;  // since the last result, the stream that made it included
};

Result<std::byte*> CudaBytes::Own() {
  const std::lock_guard lock(mutex_);
  if (address_ == 0) {
    const CudaDriver& cuda = context_->Use();
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes_, 1));
    const std::string what = fmt::format("allocating {} bytes", bytes_);
    CudaAddress address = 0;
    REPRISE_TRY(context_->Check(cuda.allocate(&address, size), what));
    // On the default stream, which the streams of this device do not wait for.
    int code = cuda.fill8(address, 0, size, nullptr);
    code = code == 0 ? cuda.finish_stream(nullptr) : code;
    if (code != 0) {
      (void)cuda.free(address);
      return tl::unexpected<Error>(context_->Check(code, what).error());
    }
    address_ = address;
  }
  return std::bit_cast<std::byte*>(address_);
}

void CudaBytes::Free(AdoptedBytes result) {
  std::vector<CudaHandle> streams;
  {
    const std::lock_guard lock(mutex_);
    streams.swap(used_on_);
  }
  if (streams.size() > 1) {
    results_->FreeAfter(streams, std::move(result.owner));
  }  // else at once: the stream's next result comes after
}

void CudaBytes::UsedOn(CudaHandle stream) {
  const std::lock_guard lock(mutex_);
  if (results_ != nullptr && std::ranges::find(used_on_, stream) == used_on_.end()) {
    used_on_.push_back(stream);
  }
}

Result<std::unique_ptr<CudaBuffer>> CudaBuffer::Make(std::int64_t bytes,
                                                     std::shared_ptr<CudaContext> context,
                                                     std::shared_ptr<ResultsInUse> results) {
  if (bytes < 0) {
    return UsageError("a buffer of negative size was asked for");
  }
  auto memory = std::make_shared<CudaBytes>(bytes, std::move(context), std::move(results));
  return std::unique_ptr<CudaBuffer>(new CudaBuffer(std::move(memory), false, false));
}

std::unique_ptr<Buffer> CudaBuffer::Alias(bool only_tasks) {
  return static_cast<const CudaBytes&>(*memory()).has_aliases()
             ? std::unique_ptr<Buffer>(new CudaBuffer(memory(), true, only_tasks))
             : nullptr;
}

void CudaBuffer::UsedOn(CudaHandle stream) const {
  static_cast<CudaBytes&>(*memory()).UsedOn(stream);
}

}  // namespace reprise
