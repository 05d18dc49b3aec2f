#include "converters/pytorch/kineto/event_categories.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

bool HasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

bool IsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

// Names of libkineto's ActivityType, of its plug-ins (gpu_memcpy, mlu_memcpy, GCU_MEMCPY), and
// those until PyTorch 1.11 ("Operator", "Kernel", "Memcpy", "Runtime").
EventCategory CategoryOf(std::string_view category) {
  const std::string name = LowerCase(category);
  if (IsAny(name, {"cpu_op", "operator"})) {
    return EventCategory::kOperator;
  }
  if (name == "user_annotation") {
    return EventCategory::kAnnotation;
  }
  if (name == "python_function") {
    return EventCategory::kPython;
  }
  if (IsAny(name, {"kernel", "concurrent_kernel"})) {
    return EventCategory::kKernel;
  }
  if (name == "memcpy" || name.ends_with("_memcpy")) {
    return EventCategory::kMemcpy;
  }
  if (name == "memset" || name.ends_with("_memset")) {
    return EventCategory::kMemset;
  }
  if (IsAny(name, {"runtime", "driver"}) || name.ends_with("_runtime") ||
      name.ends_with("_driver")) {
    return EventCategory::kRuntime;
  }
  if (name.ends_with("_sync")) {
    return EventCategory::kSync;
  }
  const bool noise =
      name.ends_with("_user_annotation") || name.ends_with("_profiler_range") ||
      IsAny(name, {"ac2g", "async_cpu_to_gpu", "fwdbwd", "forward_backward", "cpu_instant_event",
                   "trace", "overhead", "collective_comm", "external_correlation", "cuda_event",
                   // an event that a CUDA graph records
                   "graph_event_node", "mtia_insight", "mtia_counters", "mlu_notifier",
                   "xpu_scope_profiler",
                   // Ascend's arrows, and its queue of operators on the host
                   "async_npu", "hosttodevice", "async_task_queue", "enqueue", "dequeue"});
  return noise ? EventCategory::kNoise : EventCategory::kOther;
}

bool IsStreamSync(std::string_view task) {
  std::string name = LowerCase(task);
  std::replace(name.begin(), name.end(), ' ', '_');
  if (name.ends_with("_sqe")) {
    name.resize(name.size() - 4);
  }
  return HasAny(name, {"event_wait", "event_record", "notify_wait", "notify_record"}) ||
         IsAny(name, {"place_holder", "write_value"});
}

RuntimeKind RuntimeKindOf(std::string_view call) {
  const std::string name = LowerCase(call);
  // On the device: the host goes on ("cudaStreamWaitEvent", "urEnqueueEventsWaitWithBarrier").
  if (HasAny(name, {"streamwaitevent", "enqueueeventswait", "enqueuewait", "appendwaitonevents",
                    "appendbarrier", "enqueuebarrier"})) {
    return RuntimeKind::kStreamWait;
  }
  // "cudaStreamSynchronize_ptsz", "zeEventHostSynchronize", "aclrtSynchronizeStreamWithTimeout"
  if (name.find("synchronize") != std::string_view::npos) {
    return HasAny(name, {"stream", "queue", "commandlist"}) ? RuntimeKind::kStreamSync
           : HasAny(name, {"event", "fence"})               ? RuntimeKind::kEventSync
                                                            : RuntimeKind::kDeviceSync;
  }
  // "urQueueFinish", "clFinish"
  if (name.ends_with("finish")) {
    return RuntimeKind::kStreamSync;
  }
  // "urEventWait", "piEventsWait", "clWaitForEvents", "hsa_signal_wait_scacquire"
  if (HasAny(name, {"eventwait", "eventswait", "waitforevent", "waitevent", "event_wait",
                    "wait_event", "signal_wait", "fencewait"})) {
    return RuntimeKind::kEventSync;
  }
  if (HasAny(name, {"queuewait", "queue_wait", "waitforstream", "waitstream"})) {
    return RuntimeKind::kStreamSync;
  }
  if (HasAny(name, {"devicewait", "device_wait", "waitfordevice"})) {
    return RuntimeKind::kDeviceSync;
  }
  if (HasAny(name, {"eventrecord", "recordevent"})) {
    return RuntimeKind::kRecordEvent;
  }
  // Copies without "Async" return when they are done: "cudaMemcpy", "hipMemcpyWithStream".
  return HasAny(name, {"memcpy"}) && HasAny(name, {"cuda", "hip", "cumemcpy", "aclrt", "musa"}) &&
                 !HasAny(name, {"async", "node", "params", "dtod"})
             ? RuntimeKind::kStreamSync
             : RuntimeKind::kOther;
}

}  // namespace reprise::pytorch
