#include "tests/kernels/cuda_stand_in/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace cuda_stand_in {
namespace {

constexpr int kMostDevices = 16;

std::uint64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <typename Owned>
Owned* Find(const std::set<std::unique_ptr<Owned>>& owned, const void* handle) {
  const auto it = std::ranges::find(
      owned, handle, [](const auto& one) { return static_cast<const void*>(one.get()); });
  return it == owned.end() ? nullptr : it->get();
}

}  // namespace

// Never destroyed: other libraries may free memory as late as they like.
Gpu& Gpu::Get() {
  static Gpu& gpu = *new Gpu;
  return gpu;
}

std::mutex& Gpu::Lock() {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

Context*& CurrentContext() {
  static thread_local Context* current = nullptr;
  return current;
}

Code Gpu::Refuse(Code code, const std::string& why) {
  fmt::print(stderr, "stand-in GPU: {}\n", why);
  return code;
}

Code Gpu::Initialize() {
  if (!faults_.Read()) {
    return kInvalidValue;
  }
  if (faults_.OfInit() != kOk) {
    return faults_.OfInit();
  }
  if (contexts_.empty()) {
    const char* const set = std::getenv("REPRISE_STAND_IN_DEVICES");
    const int count = set == nullptr ? 1 : std::atoi(set);
    if (count < 1 || count > kMostDevices) {
      return Refuse(kNoDevice,
                    fmt::format("REPRISE_STAND_IN_DEVICES is not from 1 to {}", kMostDevices));
    }
    for (int device = 0; device < count; ++device) {
      auto& context = contexts_.emplace_back(std::make_unique<Context>());
      context->device = device;
      context->default_stream.context = context.get();
    }
  }
  is_initialized_ = true;
  return kOk;
}

void Gpu::Reset(Context& context) {
  RunAll(context);
  context.default_stream.queue.clear();
  context.streams.clear();
  context.events.clear();
  arena_.FreeAll(context.device);
  context.error = context.is_lost ? context.error : kOk;
}

Stream* Gpu::StreamOf(Context& context, void* handle) {
  return handle == nullptr ? &context.default_stream : Find(context.streams, handle);
}

Event* Gpu::EventOf(Context& context, void* handle) { return Find(context.events, handle); }

Event* Gpu::FindEvent(void* handle) {
  for (const auto& context : contexts_) {
    if (Event* const found = EventOf(*context, handle)) {
      return found;
    }
  }
  return nullptr;
}

Code Gpu::Enqueue(Stream& stream, Operation operation) {
  stream.queue.push_back(std::move(operation));
  return kOk;
}

Code Gpu::EnqueueWait(Stream& stream, const Event& event) {
  if (event.last == nullptr) {
    return kOk;  // never recorded: nothing to wait for
  }
  return Enqueue(stream,
                 {.run =
                      [record = event.last, number = event.number](Stream& at) {
                        LogOperation(at.number, fmt::format("wait event {}", number));
                        return record->context->error == kOk
                                   ? ""
                                   : fmt::format("event {}, which stream {} waits for, has failed",
                                                 number, at.number);
                      },
                  .is_ready = [this, record = event.last](Stream&) { return TryUntil(*record); }});
}

Code Gpu::EnqueueRecord(Stream& stream, Event& event) {
  event.last = std::make_shared<Record>(Record{.context = stream.context, .stream = &stream});
  return Enqueue(stream, {[record = event.last, number = event.number](Stream& at) {
                   record->time_ns = NowNs();
                   record->has_run = true;
                   LogOperation(at.number, fmt::format("record event {}", number));
                   return std::string();
                 }});
}

bool Gpu::RunNext(Stream& stream) {
  Context& context = *stream.context;
  if (stream.queue.front().is_ready && !stream.queue.front().is_ready(stream)) {
    return false;
  }
  const Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (const Code lost = faults_.OfOperation(); lost != kOk) {
    context.is_lost = true;
    context.error = Refuse(lost, "the device is lost, as REPRISE_STAND_IN_FAULT asks");
    return true;
  }
  const std::string wrong = operation.run(stream);
  if (!wrong.empty()) {
    context.error = Refuse(operation.failure, wrong);
  }
  return true;
}

void Gpu::Pause() {
  constexpr auto kPause = std::chrono::microseconds(50);
  Lock().unlock();
  std::this_thread::sleep_for(kPause);
  Lock().lock();
}

bool Gpu::TryAll(Stream& stream) {
  while (stream.context->error == kOk && !stream.queue.empty()) {
    if (!RunNext(stream)) {
      return false;
    }
  }
  return true;
}

bool Gpu::TryUntil(const Record& record) {
  const Context& context = *record.context;
  while (context.error == kOk && !record.has_run && !record.stream->queue.empty()) {
    if (!RunNext(*record.stream)) {
      return false;
    }
  }
  return true;
}

Code Gpu::RunAll(Stream& stream) {
  while (!TryAll(stream)) {
    Pause();
  }
  return stream.context->error;
}

Code Gpu::RunAll(Context& context) {
  for (;;) {
    bool all = TryAll(context.default_stream);
    for (const auto& stream : context.streams) {
      all = TryAll(*stream) && all;
    }
    if (all) {
      return context.error;
    }
    Pause();
  }
}

Code Gpu::RunUntil(const std::shared_ptr<Record>& record) {
  // Another thread may record its event again.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::shared_ptr<Record> kept = record;
  while (!TryUntil(*kept)) {
    Pause();
  }
  return kept->context->error;
}

}  // namespace cuda_stand_in
