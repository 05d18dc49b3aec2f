// What Kineto's categories ("cat") mean, those of all devices' plug-ins, and of versions since
// 2021.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise::pytorch {

enum class EventCategory : std::uint8_t {
  kOperator,    // cpu_op
  kAnnotation,  // user_annotation
  kPython,      // python_function: modules count, others do not
  kKernel,
  kMemcpy,
  kMemset,
  kRuntime,  // the host's calls of a device's runtime or driver
  kSync,     // cuda_sync: what a waiting call waited for
  kNoise,    // says nothing that other events do not: arrows, copies of annotations on streams
  kOther,  // not known here: what it is follows from its arguments and its row, else it is counted
};
[[nodiscard]] EventCategory CategoryOf(std::string_view category);
// The device's side, or calls to it: must have times.
[[nodiscard]] inline bool IsDeviceSide(EventCategory category) {
  return category >= EventCategory::kKernel && category <= EventCategory::kSync;
}

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
// By the name of the call: CUDA's, HIP's and HSA's, Level Zero's and SYCL's (ze…, ur…, pi…),
// Ascend's (aclrt…), Gaudi's (syn…), and others that are named alike.
// Whether a task of a stream, or its type, is called like a wait for an event, or its record:
// MTIA's "event_wait", Ascend's "EVENT_WAIT_SQE" and "Notify Wait". It is no work.
[[nodiscard]] bool IsStreamSync(std::string_view name);

[[nodiscard]] RuntimeKind RuntimeKindOf(std::string_view name);

}  // namespace reprise::pytorch
