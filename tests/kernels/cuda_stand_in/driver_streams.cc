// Streams and events.
#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/kernels/cuda_stand_in/cuda_stand_in.h"
#include "tests/kernels/cuda_stand_in/gpu.h"

using namespace cuda_stand_in;  // NOLINT(google-build-using-namespace)

namespace {

// `body(event)` for an event of any context, with a current one.
template <typename Body>
int WithEvent(void* handle, Body&& body) {
  return InContext([&](Context&) -> int {
    Event* const event = Gpu::Get().FindEvent(handle);
    return event == nullptr ? Gpu::Refuse(kInvalidHandle, "no event, or a destroyed one")
                            : static_cast<int>(body(*event));
  });
}

// `body(stream)` for whoever computes in a stream's place, without a current context: a stream of
// any; null is the default one of the current context, else of the first.
template <typename Body>
int OnStream(void* handle, Body&& body) {
  return Enter([&]() -> int {
    Gpu& gpu = Gpu::Get();
    Context* const current = CurrentContext();
    if (handle == nullptr) {
      return body((current == nullptr ? gpu.context(0) : *current).default_stream);
    }
    for (int device = 0; device < gpu.device_count(); ++device) {
      if (Stream* const stream = Gpu::StreamOf(gpu.context(device), handle)) {
        return body(*stream);
      }
    }
    return Gpu::Refuse(kInvalidHandle, "no stream, or a destroyed one");
  });
}

bool HasRun(const Event& event) { return event.last == nullptr || event.last->has_run; }

template <typename Owned>
void Erase(std::set<std::unique_ptr<Owned>>& owned, const Owned* one) {
  std::erase_if(owned, [&](const auto& other) { return other.get() == one; });
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

int cuStreamCreate(void** handle, unsigned flags) {
  return InContext([&](Context& context) -> int {
    if (handle == nullptr || flags != kStreamNonBlocking) {
      return Gpu::Refuse(kNotSupported,
                         fmt::format("a stream with flags {}: the stand-in has those that do not "
                                     "wait for the default stream, 1",
                                     flags));
    }
    auto made = std::make_unique<Stream>();
    made->context = &context;
    made->number = Gpu::Get().NextNumber();
    *handle = made.get();
    context.streams.insert(std::move(made));
    return kOk;
  });
}

int cuStreamDestroy_v2(void* handle) {
  return InStream(handle, [&](Stream& stream) -> int {
    if (handle == nullptr) {
      return Gpu::Refuse(kInvalidHandle, "the default stream is destroyed");
    }
    const Code failed = Gpu::Get().RunAll(stream);
    Erase(stream.context->streams, &stream);
    return failed;
  });
}

int cuStreamSynchronize(void* handle) {
  return InStream(handle, [](Stream& stream) { return Gpu::Get().RunAll(stream); });
}

int cuStreamQuery(void* handle) {
  return InStream(handle, [](Stream& stream) {
    const bool had_run = stream.queue.empty();
    (void)Gpu::Get().TryAll(stream);
    const Code failed = stream.context->error;
    return failed != kOk || had_run ? failed : kNotReady;
  });
}

int cuStreamWaitEvent(void* handle, void* event_handle, unsigned /*flags*/) {
  return InStream(handle, [&](Stream& stream) -> int {
    const Event* const event = Gpu::Get().FindEvent(event_handle);
    return event == nullptr ? Gpu::Refuse(kInvalidHandle, "a wait for no event, or a destroyed one")
                            : Gpu::Get().EnqueueWait(stream, *event);
  });
}

int cuEventCreate(void** handle, unsigned flags) {
  return InContext([&](Context& context) -> int {
    if (handle == nullptr || (flags != 0 && flags != kEventDisableTiming)) {
      return Gpu::Refuse(
          kInvalidValue,
          fmt::format("an event with flags {}: the stand-in has 0 and 2, without times", flags));
    }
    auto made = std::make_unique<Event>();
    made->number = Gpu::Get().NextNumber();
    made->has_times = flags == 0;
    *handle = made.get();
    context.events.insert(std::move(made));
    return kOk;
  });
}

int cuEventRecord(void* event_handle, void* stream_handle) {
  return InStream(stream_handle, [&](Stream& stream) -> int {
    Event* const event = Gpu::EventOf(*stream.context, event_handle);
    return event == nullptr
               ? Gpu::Refuse(kInvalidHandle, "no event of the stream's context is recorded")
               : Gpu::Get().EnqueueRecord(stream, *event);
  });
}

int cuEventQuery(void* handle) {
  return WithEvent(handle, [](const Event& event) {
    const bool had_run = HasRun(event);
    const bool runs = !had_run && !Gpu::Get().TryUntil(*event.last);
    const Code failed = had_run || runs ? kOk : event.last->context->error;
    return failed != kOk || had_run ? failed : kNotReady;
  });
}

int cuEventSynchronize(void* handle) {
  return WithEvent(handle, [](const Event& event) {
    return HasRun(event) ? kOk : Gpu::Get().RunUntil(event.last);
  });
}

#ifndef STAND_IN_WITHOUT_ELAPSED_TIME
int cuEventElapsedTime(float* ms, void* from_handle, void* to_handle) {
  return WithEvent(from_handle, [&](const Event& from) {
    const Event* const to = Gpu::Get().FindEvent(to_handle);
    if (to == nullptr || !from.has_times || !to->has_times || from.last == nullptr ||
        to->last == nullptr) {
      return Gpu::Refuse(kInvalidHandle,
                         "elapsed time of an event without times, or one that was not recorded");
    }
    if (!from.last->has_run || !to->last->has_run) {
      return kNotReady;
    }
    constexpr double kMsPerNs = 1e-6;
    *ms = static_cast<float>(kMsPerNs * (static_cast<double>(to->last->time_ns) -
                                         static_cast<double>(from.last->time_ns)));
    return kOk;
  });
}
#endif

int cuEventDestroy_v2(void* handle) {
  return InContext([&](Context& context) -> int {
    const Event* const event = Gpu::EventOf(context, handle);
    return event == nullptr
               ? Gpu::Refuse(kInvalidHandle, "no event of the current context is destroyed")
               : (Erase(context.events, event), kOk);
  });
}

int reprise_stand_in_drain(void* handle) {
  return OnStream(handle, [](Stream& stream) { return Gpu::Get().RunAll(stream); });
}

int reprise_stand_in_touch(void* handle, const void* memory, std::size_t bytes) {
  return OnStream(handle, [&](Stream& stream) -> int {
    Context& context = *stream.context;
    const std::string why =
        Gpu::Get().arena().WhyNot(reinterpret_cast<std::uintptr_t>(memory), bytes, context.device);
    if (!why.empty() && context.error == kOk) {
      context.error = Gpu::Refuse(kIllegalAddress, "an operator of PyTorch's: " + why);
    }
    return context.error;
  });
}

int reprise_stand_in_enqueue(void* handle, const char* text, const reprise_stand_in_range* ranges,
                             std::size_t count, int (*advance)(void* work),
                             void (*release)(void* work), void* work) {
  struct Queued {
    std::shared_ptr<void> work;
    std::vector<reprise_stand_in_range> ranges;
    int answer = 0;
    std::string why;
  };
  auto queued = std::make_shared<Queued>();
  queued->work = std::shared_ptr<void>(work, release);
  queued->ranges.assign(ranges, ranges + count);
  return OnStream(handle, [&](Stream& stream) -> int {
    (void)Gpu::Get().Enqueue(
        stream, {.run =
                     [queued, text = std::string(text)](Stream& at) {
                       if (queued->answer == 1) {
                         LogOperation(at.number, text);
                       }
                       return queued->why;
                     },
                 .is_ready =
                     [queued, advance](Stream& at) {
                       for (const auto& [memory, bytes] : queued->ranges) {
                         if (bytes > 0 && queued->why.empty()) {
                           queued->why = Gpu::Get().arena().WhyNot(
                               reinterpret_cast<std::uintptr_t>(memory), bytes, at.context->device);
                         }
                       }
                       queued->answer = queued->why.empty() ? advance(queued->work.get()) : -1;
                       if (queued->answer < 0 && queued->why.empty()) {
                         queued->why = "work of another library is wrong";
                       }
                       return queued->answer != 0;
                     }});
    return stream.context->error;
  });
}

int reprise_stand_in_log(void* handle, const char* text) {
  return OnStream(handle,
                  [&](const Stream& stream) { return LogOperation(stream.number, text), kOk; });
}
}
// NOLINTEND(readability-identifier-naming)
