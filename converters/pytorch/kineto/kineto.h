// The Kineto file: when each operation ran, on which thread. Times in nanoseconds since the epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/host/string_pool.h"
#include "converters/pytorch/kineto/device_events.h"
#include "converters/text_source.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "core/value.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

// What the host trace has better; read only where there is none (kineto_host.h).
struct KinetoArguments {
  std::int64_t forward_thread = 0;  // of backward functions: above 0, and no thread number of ours
  ValueList inputs;
  bool values_missing = false;  // files without "Concrete Inputs": what is no tensor is unknown
};

struct KinetoEvent {
  const std::string* name = nullptr;  // interned for the life of the KinetoTrace
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t rf_id = -1;
  std::int64_t external_id = -1;   // kernels name the operation that launched them by it
  std::int64_t ev_idx = -1;        // "Ev Idx": position among all events of the profile
  std::int64_t seq_id = -1;        // autograd sequence number
  std::uint32_t input_shapes = 0;  // HashShapes of "Input Dims"; 0: not recorded
  bool annotation = false;         // user_annotation, not cpu_op
  std::unique_ptr<CommAttributes> comm;
  std::unique_ptr<KinetoArguments> arguments;
};

// A sample of a counter ("ph": "C").
struct CounterSample {
  SampledQuantity quantity{};
  std::int32_t device = 0;
  std::int64_t at_ns = 0;
  std::int64_t millionths = 0;  // of the quantity's unit
};

// A module's forward, as the profiler's Python tracer saw it (with_modules, with_stack).
struct ModuleCall {
  const std::string* name = nullptr;  // "nn.Module: Linear_3"
  std::int64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};

struct KinetoTrace {
  std::vector<KinetoEvent>
      events;  // cpu_op and user_annotation, in file order; ReadRank drops them
  std::vector<ModuleCall> modules;
  DeviceTrace device;                   // empty in CPU captures
  std::vector<CounterSample> counters;  // by device, quantity and time
  std::vector<GroupRecord> groups;      // distributedInfo.pg_config
  std::int64_t rank = -1;               // distributedInfo; -1: not recorded
  std::int64_t world_size = -1;
  // From the first start to the last end of anything in the file; last before first: no times.
  std::int64_t first_ns = 0, last_ns = -1;
  bool untimed = false;  // made of a host trace alone: times give the order and nothing else
  std::vector<std::int32_t> host_nodes;  // untimed: by event, the node that it was made of
  std::int64_t process = -1;             // of the first kept event; -1: not recorded
  std::string backend;                   // distributedInfo: "nccl"; empty: not recorded
  std::string host_name;    // processes of one host read one clock; empty: not recorded
  std::string device_name;  // of the device whose events it has; empty: none, or not recorded
  std::shared_ptr<StringPool> strings;
};

// Bad input on anything that is not such a file, or damaged; names file and byte offset.
// Arguments are read if there is no host trace to have them from.
// What is in memory is what is kept, and some MiB of the text.
[[nodiscard]] Result<KinetoTrace> ReadKineto(TextSource& source, bool with_arguments,
                                             Diagnostics& diagnostics);

}  // namespace reprise::pytorch
