// What kernels run on: Device, Stream, Event, Buffer. kernels/backend.h has what makes devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "kernels/settings.h"
#include "kernels/tuning.h"

namespace reprise {

// Device memory. Freed on destruction; the caller keeps it alive until work that uses it is done.
class Buffer {
 public:
  virtual ~Buffer() = default;
  [[nodiscard]] virtual std::int64_t size_bytes() const = 0;
  [[nodiscard]] bool Holds(std::int64_t offset_bytes, std::int64_t bytes) const {
    return offset_bytes >= 0 && bytes >= 0 && offset_bytes + bytes <= size_bytes();
  }
  // The bytes themselves where DeviceInfo::memory_is_host, nullptr elsewhere.
  [[nodiscard]] virtual std::byte* host_data() = 0;
  // An aliased buffer of this memory for one of the storages that use it in turn; nullptr where the
  // backend gains nothing from one. The memory lives as long as its last alias. `only_tasks`:
  // everything that reads or writes this storage was lowered from a call.
  [[nodiscard]] virtual std::unique_ptr<Buffer> Alias(bool /*only_tasks*/) { return nullptr; }
};

// Host memory that copies to and from one device are fastest with: pinned, where its driver can.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  [[nodiscard]] virtual std::span<std::byte> bytes() = 0;
};

// Completion of one enqueued command. Thread-safe.
class Event {
 public:
  virtual ~Event() = default;
  [[nodiscard]] virtual bool IsDone() const = 0;
  [[nodiscard]] virtual Status Wait() const = 0;
};
using EventPtr = std::shared_ptr<Event>;

// A struct passed by value: its bytes, laid out as the program declares it (StructArg makes one).
using StructBytes = std::vector<std::byte>;

// One thing to enqueue, as a plain value: exactly one of the alternatives.
struct DeviceKernel {
  std::string program;  // file in kernels/ops, e.g. "elementwise.cl"; common.cl is put before it
  std::string entry;    // __kernel function
  // -D… : each distinct (program, options) is compiled once, all its kernels together (on a CPU
  // ~0.8 s + 0.1 s per kernel), so few options and few kernels per program; shapes are arguments.
  std::string options;
  using Arg = std::variant<Buffer*, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float,
                           double, StructBytes>;
  std::vector<Arg> args;
  // Local zeros: the backend chooses. Name them on CPU devices, always the same ones: PoCL compiles
  // a kernel anew for each local size. A global extent of 0 enqueues nothing.
  std::array<std::size_t, 3> global = {1, 1, 1};
  std::array<std::size_t, 3> local = {0, 0, 0};
};
struct DeviceCopy {
  Buffer* dst;
  std::int64_t dst_offset_bytes;
  Buffer* src;
  std::int64_t src_offset_bytes;
  std::int64_t bytes;
};
struct DeviceFill {
  Buffer* dst;
  std::int64_t offset_bytes;
  std::int64_t bytes;
  std::vector<std::byte> pattern;  // 1, 2, 4 or 8 bytes
};
// A function of this process. Where DeviceInfo::memory_is_host, it is the work, and runs on the
// stream's thread, in order. On a device with an OperatorProvider it enqueues a library's work on
// the stream, and runs when it is enqueued itself.
struct HostTask {
  std::function<Status()> run;
  // Run before and after it, outside the time that a profiling stream measures; each may be empty.
  // They do what the original program's host does around an operation (it prepares arguments and
  // frees memory), which a recording has between operations.
  std::function<void()> before = {};
  std::function<void()> after = {};
};
using Launch = std::variant<DeviceKernel, DeviceCopy, DeviceFill, HostTask>;

// A launch with its program compiled and its arguments bound: enqueueing it costs as little as the
// backend allows. Belongs to the device that prepared it; one thread at a time may enqueue it.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
};

// An in-order queue. One thread at a time may use it. Errors of enqueued work surface in Finish()
// and in Event::Wait().
class Stream {
 public:
  virtual ~Stream() = default;
  [[nodiscard]] virtual Status Enqueue(const PreparedLaunch& launch) = 0;
  // Later commands of this stream start only after `events` (of any stream of the same device).
  [[nodiscard]] virtual Status WaitFor(std::span<const EventPtr> events) = 0;
  // An event that completes when everything enqueued so far has.
  [[nodiscard]] virtual Result<EventPtr> Record() = 0;
  // Host memory must stay valid until the stream has passed the command.
  [[nodiscard]] virtual Status Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                                      std::int64_t bytes) = 0;
  [[nodiscard]] virtual Status Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                                        std::int64_t bytes) = 0;
  // CPU devices only: the buffer's own bytes, without a copy, once everything enqueued so far is
  // done. Until Unmap nothing on the device may touch them. Usage error elsewhere.
  [[nodiscard]] virtual Result<std::byte*> Map(Buffer& /*buffer*/, std::int64_t /*offset_bytes*/,
                                               std::int64_t /*bytes*/) {
    return UsageError("this device's memory is not the host's");
  }
  // Takes back what Map gave.
  [[nodiscard]] virtual Status Unmap(Buffer& /*buffer*/, std::byte* /*mapped*/) { return {}; }
  // Profiling streams: what the last `launches` took passes until they have lasted `factor` times
  // as long, before any later command; the last one's time in TakeTimes() ends then. False, and
  // nothing done, where a stream cannot wait for itself.
  [[nodiscard]] virtual bool Stretch(std::size_t /*launches*/, double /*factor*/) { return false; }
  // Submits what was enqueued (needed before another stream or thread waits on its events).
  [[nodiscard]] virtual Status Flush() = 0;
  [[nodiscard]] virtual Status Finish() = 0;

  // Profiling streams: device times of every Enqueue since the last call, in order, mapped to
  // MonotonicNs. Call after Finish(). Empty on streams created without profiling.
  struct Times {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  [[nodiscard]] virtual Result<std::vector<Times>> TakeTimes() = 0;
};

struct DeviceInfo {
  std::string backend;  // Backend::name
  std::string name;
  std::string vendor;
  std::string platform;
  std::string driver;
  std::string version;
  std::string pci_bus_id;  // "0000:01:00.0", empty if unknown
  std::string uuid;        // empty if unknown
  int compute_units = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t max_allocation_bytes = 0;
  std::size_t max_work_group_size = 0;
  bool is_cpu = false;
  // Buffers are memory of this process, and launches are HostTasks, copies and fills. Else launches
  // are DeviceKernels, copies and fills, and HostTasks of an OperatorProvider.
  bool memory_is_host = false;
  // Whose kernels run, for reports: "Reprise's own, by OpenCL".
  std::string kernels;
  bool fp16 = false;
  bool fp64 = false;
  bool rounds_division = false;  // can round float32 quotients and roots correctly
  // NVIDIA's, by CUDA or NVIDIA's own OpenCL: 80 for 8.0; 0 elsewhere.
  int compute_capability = 0;
  // gemm_mma.cl may be used: the opened device has compiled it and computed a product right.
  bool tensor_cores = false;
  KernelTuning tuning;  // what was measured for this very device and driver
};

class CallLowering;
class DeviceTransfers;
class OperatorProvider;
struct Baselines;

// One physical device of one backend. Thread-safe but for its streams.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  // Contents are zero.
  [[nodiscard]] virtual Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) = 0;
  // For transfers; ordinary memory unless the backend has faster.
  [[nodiscard]] virtual Result<std::unique_ptr<HostMemory>> AllocateHost(std::int64_t bytes);
  [[nodiscard]] virtual Result<std::unique_ptr<Stream>> CreateStream(bool profiling) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<PreparedLaunch>> Prepare(const Launch& launch) = 0;
  // Compiles what these launches need, so that Prepare() only has to bind arguments. Optional;
  // worth calling with all of a trace's launches where several processes start at once: each then
  // compiles first what no other is compiling.
  [[nodiscard]] virtual Status Compile(std::span<const Launch> /*launches*/) { return {}; }
  // Lowers calls to launches of this device. Exists as long as the device.
  [[nodiscard]] virtual const CallLowering& lowering() const = 0;
  // The library whose operators replace kernels; nullptr: none.
  [[nodiscard]] virtual const OperatorProvider* provider() const { return nullptr; }
  // The libraries that do the same on this device (kernels/baseline.h); `settings` name some of
  // them.
  [[nodiscard]] virtual Baselines OpenBaselines(const BackendSettings& settings) const;
  // The library that moves data among devices of this kind (kernels/device_transfers.h); nullptr:
  // there is none. Environment error if it cannot be used here.
  [[nodiscard]] virtual Result<std::shared_ptr<DeviceTransfers>> OpenTransfers();
  // Before each iteration, while nothing runs. `page_faults`: of the recorded process in the steps
  // that are replayed; -1: unknown. The host backend makes as many, if a library supplies results.
  virtual void BeginIteration(std::int64_t /*page_faults*/) {}
  // Uncertainty of the device clock's mapping to MonotonicNs.
  [[nodiscard]] virtual std::int64_t clock_uncertainty_ns() const = 0;

  // Where this object's programs came from so far; zeros for backends without programs.
  struct ProgramStats {
    int compiled = 0;
    int from_disk = 0;
  };
  [[nodiscard]] virtual ProgramStats program_stats() const { return {}; }
};

}  // namespace reprise
