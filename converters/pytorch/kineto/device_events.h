// The device's side of a Kineto file: runtime calls, what ran on streams, recorded synchronisation.
// CUDA and ROCm alike ("cudaLaunchKernel", "hipLaunchKernel"). Times in nanoseconds since the
// epoch.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/host/string_pool.h"
#include "converters/pytorch/kineto/event_categories.h"
#include "converters/pytorch/kineto/event_times.h"
#include "core/diagnostics.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

struct RuntimeCall {
  const std::string* name = nullptr;  // "cudaLaunchKernel"
  RuntimeKind kind = RuntimeKind::kOther;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t correlation = -1;
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
  [[nodiscard]] bool empty() const { return events.empty(); }
};

// What the device did, by the event's arguments; where they do not say it, its row has device and
// stream.
[[nodiscard]] DeviceEvent ReadDeviceEvent(simdjson::dom::element event, DeviceEvent::Kind kind,
                                          const EventSpan& span, BatchStrings& strings);
[[nodiscard]] bool NamesStream(simdjson::dom::element event);  // its arguments do
// Adds device work or a record of synchronisation to `trace`. Orders nothing.
void AddDeviceEvent(simdjson::dom::element event, EventCategory category, const EventSpan& span,
                    BatchStrings& strings, DeviceTrace& trace);
// The id by which a call and what it launched know each other; -1: none.
[[nodiscard]] std::int64_t ReadCorrelation(const JsonMember& args);
[[nodiscard]] std::unique_ptr<CommAttributes> ReadCommAttributes(simdjson::dom::element args);
// Leaves out what was called outside of [start_ns, end_ns], and what such calls launched (counted:
// `device_event_of_another_step`).
void KeepSpan(std::int64_t start_ns, std::int64_t end_ns, const std::string& label,
              DeviceTrace& trace, Diagnostics& diagnostics);
// Sorts, and counts events that overlap on a stream (`stream_overlap`) or are there twice
// (`duplicate_device_event`, left out).
void FinishDeviceTrace(const std::string& label, DeviceTrace& trace, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
