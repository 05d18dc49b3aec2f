// Records of rocprofv3 as events of a Kineto file: the one place where a dispatch, a copy or a call
// becomes events, for both forms of its results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/nsight/nvtx_ranges.h"
#include "converters/pytorch/rocprof/rocprof_records.h"
#include "converters/pytorch/rocprof/stream_waits.h"
#include "core/result.h"

namespace reprise::pytorch {

// What the records of a process say together, which one call needs.
struct RocprofContext {
  std::string path;
  std::int64_t process = 0;  // the host's number
  // Calls of HIP are recorded. Where they are not, calls of RCCL launch its kernels.
  bool has_hip_calls = false;
  std::int64_t rccl_members = 0;  // of the only communicator; 0: not known
};

// - Dispatches and copies on streams, with the calls that made them by correlation. A grid is
//   counted in workgroups.
// - Calls of HIP and HSA as the runtime's and the driver's. Where their arguments are recorded:
//   which record of an event a stream waited for.
// - Ranges of ROCTx as annotations; those of torch.autograd's emit_nvtx as operators. Marks are
//   left out.
// - RCCL's calls as record_param_comms. A group of calls is a batch.
//
// Bad input names the file and the record: a time that can't be.
class RocprofEvents {
 public:
  RocprofEvents(RocprofContext context, EventList& events)
      : context_(std::move(context)), events_(events) {}

  [[nodiscard]] Status Add(const RocprofKernel& kernel, const RocprofPlace& place);
  [[nodiscard]] Status Add(const RocprofCopy& copy, const RocprofPlace& place);
  [[nodiscard]] Status Add(const RocprofCall& call, const RocprofPlace& place);
  // After the last record, what follows from all: the ranges that count steps, again as the
  // profiler's steps; what streams waited for.
  [[nodiscard]] Status Finish();

 private:
  struct Span {
    std::optional<std::int64_t> start_ns, end_ns;
  };
  [[nodiscard]] Status Begin(std::string_view category, std::string_view name, Span span,
                             const RocprofPlace& place);
  [[nodiscard]] Status BeginCall(std::string_view category, std::string_view name,
                                 const RocprofCall& call, const RocprofPlace& place);
  [[nodiscard]] Status AddRange(const RocprofCall& call, const RocprofPlace& place);
  [[nodiscard]] Status AddTransfer(const RocprofCall& call, const RocprofPlace& place);
  void AddWork(std::int64_t device, std::int64_t stream, std::optional<std::int64_t> correlation);
  void AddCorrelation(std::optional<std::int64_t> correlation);
  void End();
  [[nodiscard]] Status AddSteps();
  [[nodiscard]] Status AddWaits();

  RocprofContext context_;
  EventList& events_;
  StepFinder steps_;
  StreamWaits waits_;
  EventArguments args_;  // of the event that is written
};

}  // namespace reprise::pytorch
