// The stand-in's devices: contexts, streams, events, and how queued work is executed. One lock for
// all, which every function of the driver interface holds (Enter, InContext); the rest of this
// header expects it to be held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "tests/kernels/cuda_stand_in/arena.h"
#include "tests/kernels/cuda_stand_in/driver_types.h"
#include "tests/kernels/cuda_stand_in/faults.h"

namespace cuda_stand_in {

struct Context;
struct Stream;

// CUevent's last record, which a wait keeps when the event is recorded again.
struct Record {
  Context* context = nullptr;
  Stream* stream = nullptr;  // valid until has_run, or the context's error
  bool has_run = false;
  std::uint64_t time_ns = 0;  // when it ran, of the monotonic clock
};

// Of a stream. `run` returns what is wrong, or nothing.
struct Operation {
  std::function<std::string(Stream&)> run;
  Code failure = kIllegalAddress;  // of a `run` that says something
  // Whether it may run now; empty: always. Until then the stream stands.
  std::function<bool(Stream&)> is_ready = {};
};

struct Stream {
  Context* context = nullptr;
  int number = 0;  // 0: the context's default stream
  std::deque<Operation> queue;
};

struct Event {
  Context* context = nullptr;
  int number = 0;
  bool has_times = true;
  std::shared_ptr<Record> last;  // null: never recorded
};

// A device's primary context.
struct Context {
  int device = 0;
  int references = 0;    // cuDevicePrimaryCtxRetain's
  Code error = kOk;      // that everything answers from now on
  bool is_lost = false;  // the error outlasts the last reference
  Stream default_stream;
  std::set<std::unique_ptr<Stream>> streams;
  std::set<std::unique_ptr<Event>> events;
};

class Gpu {
 public:
  static constexpr std::size_t kMemoryBytes = std::size_t{8} << 30;

  static Gpu& Get();
  static std::mutex& Lock();

  Code Initialize();  // reads the environment
  [[nodiscard]] bool is_initialized() const { return is_initialized_; }
  [[nodiscard]] int device_count() const { return static_cast<int>(contexts_.size()); }
  [[nodiscard]] Context& context(int device) { return *contexts_.at(device); }
  // Streams, events and memory go with the last reference.
  void Reset(Context& context);

  Arena& arena() { return arena_; }
  Faults& faults() { return faults_; }

  // Of a handle that the context's caller gives: null if it is none of this context's.
  static Stream* StreamOf(Context& context, void* handle);
  static Event* EventOf(Context& context, void* handle);
  // Of any context's: streams wait for other devices' events.
  Event* FindEvent(void* handle);
  int NextNumber() { return ++numbers_; }

  // Each returns the context's error.
  Code Enqueue(Stream& stream, Operation operation);
  Code EnqueueWait(Stream& stream, const Event& event);
  Code EnqueueRecord(Stream& stream, Event& event);
  Code RunAll(Stream& stream);
  Code RunAll(Context& context);
  Code RunUntil(const std::shared_ptr<Record>& record);
  // As far as it goes without waiting for another process: whether all has run, or there is an
  // error.
  bool TryAll(Stream& stream);
  bool TryUntil(const Record& record);

  // A line on stderr, and the code.
  static Code Refuse(Code code, const std::string& why);

 private:
  // False: the first operation is not ready.
  bool RunNext(Stream& stream);
  // Lets other threads in.
  static void Pause();

  bool is_initialized_ = false;
  std::deque<std::unique_ptr<Context>> contexts_;
  Arena arena_;
  Faults faults_;
  int numbers_ = 0;
};

// The calling thread's context; null without one.
Context*& CurrentContext();

// `body()` under the lock, after cuInit.
template <typename Body>
int Enter(Body&& body) {
  const std::lock_guard lock(Gpu::Lock());
  return Gpu::Get().is_initialized() ? static_cast<int>(body())
                                     : Gpu::Refuse(kNotInitialized, "cuInit has not been called");
}

// `body(context)` with the context that is current on this thread, and whole.
template <typename Body>
int InContext(Body&& body) {
  return Enter([&]() -> int {
    Context* const context = CurrentContext();
    if (context == nullptr) {
      return Gpu::Refuse(kInvalidContext, "no context is current on this thread");
    }
    if (context->references == 0) {
      return Gpu::Refuse(kContextIsDestroyed, "the current context was released");
    }
    return context->error != kOk ? context->error : static_cast<int>(body(*context));
  });
}

// As InContext, for a stream of it (null: the default one).
template <typename Body>
int InStream(void* handle, Body&& body) {
  return InContext([&](Context& context) -> int {
    Stream* const stream = Gpu::StreamOf(context, handle);
    return stream == nullptr ? Gpu::Refuse(kInvalidHandle, "no stream of the current context")
                             : static_cast<int>(body(*stream));
  });
}

}  // namespace cuda_stand_in
