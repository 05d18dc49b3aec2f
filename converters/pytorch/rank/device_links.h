// Which operation launched what ran on the device, and what a waiting call waited for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/kineto/device_events.h"
#include "converters/pytorch/rank/operation_list.h"
#include "converters/pytorch/rank/roles.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// A device event that another event or a host call waits for.
struct DeviceSource {
  std::int32_t event = -1;
  bool inferred = false;  // the capture has the waiting call, but not for what
  bool operator==(const DeviceSource&) const = default;
};

struct CallLink {
  std::int32_t thread = -1;     // index into OperationList::threads
  std::int32_t operation = -1;  // innermost around it, -1: none
  // The operation that becomes a node (Role::kNode, kCommCall) around it; -1: called in a frame.
  std::int32_t node = -1;
  std::vector<std::int32_t> events;   // what it launched; CUDA graphs: many
  std::vector<DeviceSource> sources;  // what the host waits for in it
  // Cuts the host's node: it launches, or it waits.
  [[nodiscard]] bool Cuts(const RuntimeCall& call) const {
    return !events.empty() || !sources.empty() || IsHostWait(call.kind);
  }
};

struct EventLink {
  std::int32_t call = -1;             // that launched it
  std::int32_t operation = -1;        // innermost that launched it
  std::int32_t node = -1;             // as in CallLink
  bool main = false;                  // the longest kernel of its operation: it has the arguments
  std::vector<DeviceSource> sources;  // on other streams
};

struct DeviceLinks {
  std::vector<CallLink> calls;    // parallel to DeviceTrace::calls
  std::vector<EventLink> events;  // parallel to DeviceTrace::events
};

// Links by correlation id, else by External id; finds sources by the recorded ids of events, else
// by order and thread. Adds threads that only called the runtime to `list`. Counts
// `kernel_without_launch`, `wait_source_inferred`, `wait_without_source` (nothing was enqueued
// where it looks), `wait_source_late` (what should have been waited for ended after the wait; an
// earlier one on the stream is taken).
struct KinetoTrace;
[[nodiscard]] DeviceLinks LinkDevice(const KinetoTrace& kineto,
                                     const std::vector<Classified>& roles, OperationList& list,
                                     const std::string& label, Diagnostics& diagnostics);

// The second half of it (wait_sources.cc): fills `sources`.
void FindWaitSources(const DeviceTrace& device, DeviceLinks& links, const std::string& label,
                     Diagnostics& diagnostics);

}  // namespace reprise::pytorch
