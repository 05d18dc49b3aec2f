// The device's side of a Kineto file: runtime calls, what ran on streams, recorded synchronisation.
// CUDA and ROCm alike ("cudaLaunchKernel", "hipLaunchKernel"). Times in nanoseconds since the
// epoch.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/host/string_pool.h"
#include "core/diagnostics.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

enum class RuntimeKind : std::uint8_t {
  kOther,        // launches too: what a call launched is known by correlation
  kRecordEvent,  // cudaEventRecord
  kStreamWait,   // cudaStreamWaitEvent
  kEventSync,    // cudaEventSynchronize: the host waits
  kStreamSync,   // cudaStreamSynchronize, and copies that return when done
  kDeviceSync,   // cudaDeviceSynchronize
};
[[nodiscard]] inline bool IsHostWait(RuntimeKind kind) {
  return kind == RuntimeKind::kEventSync || kind == RuntimeKind::kStreamSync ||
         kind == RuntimeKind::kDeviceSync;
}

struct RuntimeCall {
  const std::string* name = nullptr;  // "cudaLaunchKernel"
  RuntimeKind kind = RuntimeKind::kOther;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t correlation = -1;
  std::optional<std::int64_t> stream;  // where the call's arguments say it
};

struct DeviceEvent {
  enum class Kind : std::uint8_t { kKernel, kMemcpy, kMemset } kind = Kind::kKernel;
  const std::string* name = nullptr;
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t external_id = -1;
  DeviceWork work;
  std::unique_ptr<CommAttributes> comm;  // NCCL kernels whose arguments say what they do

  [[nodiscard]] std::tuple<std::int32_t, std::int64_t, Kind> Place() const {
    return {device, stream, kind};
  }
};

// A cuda_sync event: what a waiting call waited for, where CUPTI recorded it.
struct SyncRecord {
  std::int64_t correlation = -1;  // of the call that waits
  std::int32_t device = 0;
  std::int64_t stream = -1;              // that waits ("Stream Wait Event"), or is waited for
  std::int64_t source_stream = -1;       // "wait_on_stream"
  std::int64_t source_correlation = -1;  // of the cudaEventRecord
};

struct DeviceTrace {
  std::vector<RuntimeCall> calls;   // by start
  std::vector<DeviceEvent> events;  // by start
  std::vector<SyncRecord> syncs;
  // Σ of the events' durations as the file has them, by device, stream and kind; without those that
  // KeepSpan left out.
  std::map<std::tuple<std::int32_t, std::int64_t, DeviceEvent::Kind>, std::int64_t> recorded_ns;
  [[nodiscard]] bool empty() const { return events.empty(); }
};

// Whether events of this category are the device's (and must have times).
[[nodiscard]] bool IsDeviceCategory(std::string_view category);
// Adds an event of category `category` that happened at [start_ns, end_ns] to `trace`, if it is one
// of the device's. Orders nothing.
void AddDeviceEvent(simdjson::dom::element event, std::string_view category, std::int64_t start_ns,
                    std::int64_t end_ns, BatchStrings& strings, DeviceTrace& trace);
[[nodiscard]] std::unique_ptr<CommAttributes> ReadCommAttributes(simdjson::dom::element args);
// Leaves out what was called outside of [start_ns, end_ns], and what such calls launched (counted:
// `device_event_of_another_step`).
void KeepSpan(std::int64_t start_ns, std::int64_t end_ns, const std::string& label,
              DeviceTrace& trace, Diagnostics& diagnostics);
// Sorts, leaves out what is there twice (`duplicate_device_event`), and settles overlaps on streams
// (stream_overlaps.h). `host_end_ns`: the last end of the host's operations.
void FinishDeviceTrace(const std::string& label, std::int64_t host_end_ns, DeviceTrace& trace,
                       Diagnostics& diagnostics);

}  // namespace reprise::pytorch
