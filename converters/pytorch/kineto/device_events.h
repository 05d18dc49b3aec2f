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
#include "converters/pytorch/kineto/event_categories.h"
#include "converters/pytorch/kineto/event_times.h"
#include "core/diagnostics.h"
#include "core/operators.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

struct RuntimeCall {
  const std::string* name = nullptr;  // "cudaLaunchKernel"
  RuntimeKind kind = RuntimeKind::kOther;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t correlation = -1;
  std::optional<std::int64_t> stream;   // where the call's arguments say it
  const std::string* kernel = nullptr;  // that it launches, where they say it: ROCm's do
};

// What a compiler's profile says of an operation that it made (XLA's: xla/operation_events.h).
struct CompiledOperation {
  const std::string* name = nullptr;  // "fusion.12"; of a kernel: the operation that launched it
  const std::string* path = nullptr;  // "jit(step)/dot_general"; empty: not known
  OpClass op_class = OpClass::kOther;
  std::int64_t flops = -1, accessed_bytes = -1;  // -1: not recorded
  std::int64_t item = -1;                        // by which others wait for it; -1: none does
  std::vector<std::int64_t> after;               // items on other streams that it waited for
};

struct DeviceEvent {
  enum class Kind : std::uint8_t { kKernel, kMemcpy, kMemset } kind = Kind::kKernel;
  const std::string* name = nullptr;
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t external_id = -1;
  std::int64_t graph_id = -1, graph_node_id = -1;  // of CUDA's graphs; -1: not recorded
  DeviceWork work;
  std::unique_ptr<CommAttributes> comm;         // NCCL kernels whose arguments say what they do
  std::unique_ptr<CompiledOperation> compiled;  // nullptr: no compiler's profile

  // A device that runs whole programs has no launches of their operations.
  [[nodiscard]] bool HasNoLaunch() const { return compiled != nullptr && work.correlation < 0; }
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

// What the device did, by the event's arguments; where they do not say it, its row has device and
// stream.
[[nodiscard]] DeviceEvent ReadDeviceEvent(simdjson::dom::element event, DeviceEvent::Kind kind,
                                          const EventSpan& span, BatchStrings& strings);
[[nodiscard]] bool NamesStream(simdjson::dom::element event);  // its arguments do
// Adds device work or a record of synchronisation to `trace`. Orders nothing.
void AddDeviceEvent(simdjson::dom::element event, EventCategory category, const EventSpan& span,
                    BatchStrings& strings, DeviceTrace& trace);
// A number, or a string that holds one (ROCm writes some that way).
[[nodiscard]] std::optional<std::int64_t> IntegerIn(const JsonMember& value);
// The id by which a call and what it launched know each other; -1: none.
[[nodiscard]] std::int64_t ReadCorrelation(const JsonMember& args);
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
