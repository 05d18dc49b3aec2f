#include "converters/pytorch/rocprof/rocprof_events.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/nsight/nccl_ranges.h"
#include "converters/pytorch/rocprof/rccl_arguments.h"
#include "core/clock.h"

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kLatestNs = kMaxUs * kNsPerUs;

// In Kineto's words.
std::string_view CopyName(const RocprofCopy& copy) {
  constexpr std::array<std::string_view, 4> kNames = {"Memcpy HtoH", "Memcpy HtoD", "Memcpy DtoH",
                                                      "Memcpy DtoD"};
  constexpr std::array<std::string_view, 4> kDirections = {"HOST_TO_HOST", "HOST_TO_DEVICE",
                                                           "DEVICE_TO_HOST", "DEVICE_TO_DEVICE"};
  if (copy.from_gpu && copy.to_gpu) {
    return kNames.at((*copy.from_gpu ? 2U : 0U) + (*copy.to_gpu ? 1U : 0U));
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (copy.direction.ends_with(kDirections.at(i))) {
      return kNames.at(i);
    }
  }
  return "Memcpy";
}

// "mul.kd", "mul [clone .kd]" → "mul": the symbol is that of the kernel's descriptor.
std::string_view WithoutDescriptor(std::string_view kernel) {
  for (const std::string_view ending : {" [clone .kd]", ".kd"}) {
    if (kernel.ends_with(ending)) {
      return kernel.substr(0, kernel.size() - ending.size());
    }
  }
  return kernel;
}

enum class CallDomain : std::uint8_t { kRuntime, kDriver, kMarker, kRccl, kOther };

// By the domain's name ("HIP_RUNTIME_API_EXT", "HSA_CORE_API", rocprofiler-systems'
// "rocm_hip_api"), else by the function's.
CallDomain DomainOf(const RocprofCall& call) {
  const auto has = [&call](std::string_view upper, std::string_view lower) {
    return call.domain.find(upper) != std::string_view::npos ||
           call.domain.find(lower) != std::string_view::npos;
  };
  if (has("MARKER", "marker")) {
    return CallDomain::kMarker;
  }
  if (has("RCCL", "rccl") || call.name.starts_with("nccl")) {
    return CallDomain::kRccl;
  }
  if (has("HIP", "hip") || call.name.starts_with("hip")) {
    return CallDomain::kRuntime;
  }
  return has("HSA", "hsa") || call.name.starts_with("hsa_") ? CallDomain::kDriver
                                                            : CallDomain::kOther;
}

// "roctxRangePushA", "roctxThreadRangeA", and names that are the ranges' own. Not marks, pauses,
// and names that are given to threads.
bool IsMarkedRange(const RocprofCall& call) {
  return !call.name.starts_with("roctx") ||
         (call.name.find("Range") != std::string_view::npos && !call.message.empty());
}

}  // namespace

Status RocprofEvents::Begin(std::string_view category, std::string_view name, Span span,
                            const RocprofPlace& place) {
  if (!span.start_ns || !span.end_ns || *span.start_ns <= -kLatestNs || *span.end_ns >= kLatestNs ||
      *span.end_ns < *span.start_ns) {
    return BadInput(
        fmt::format("{}: {}, record {}: {}; profile again", context_.path, place.list, place.record,
                    span.start_ns && span.end_ns
                        ? fmt::format("from {} to {} ns can't be", *span.start_ns, *span.end_ns)
                        : "its start and end are no whole numbers"));
  }
  events_.Begin("X");
  events_.AddText("cat", category);
  events_.AddText("name", name);
  events_.AddTime(*span.start_ns);
  events_.AddDuration(*span.end_ns - *span.start_ns);
  return {};
}

void RocprofEvents::End() {
  if (!args_.empty()) {
    events_.AddArguments(args_.Take());
  }
  events_.End();
}

void RocprofEvents::AddCorrelation(std::optional<std::int64_t> correlation) {
  if (correlation.value_or(0) != 0) {
    args_.Add("correlation", *correlation);
  }
}

void RocprofEvents::AddWork(std::int64_t device, std::int64_t stream,
                            std::optional<std::int64_t> correlation) {
  waits_.SeeWork(correlation, device, stream);
  events_.AddRow(device, stream);
  args_.Add("device", device);
  args_.Add("stream", stream);
  AddCorrelation(correlation);
}

Status RocprofEvents::Add(const RocprofKernel& kernel, const RocprofPlace& place) {
  REPRISE_TRY(Begin("kernel", WithoutDescriptor(kernel.name),
                    {.start_ns = kernel.start_ns, .end_ns = kernel.end_ns}, place));
  AddWork(kernel.device, kernel.stream, kernel.correlation);
  args_.Add("queue", kernel.queue);
  if (kernel.dispatch) {
    args_.Add("dispatch", *kernel.dispatch);
  }
  if (kernel.registers) {
    args_.Add("registers per thread", *kernel.registers);
  }
  if (kernel.lds_bytes) {
    args_.Add("shared memory", *kernel.lds_bytes);
  }
  std::array<std::int64_t, 3> groups{};
  bool known = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::int64_t size = kernel.workgroup.at(i);
    known = known && size > 0 && kernel.grid.at(i) > 0;
    groups.at(i) = known ? (kernel.grid.at(i) - 1) / size + 1 : 0;
  }
  if (known) {
    args_.Add("grid", groups);
    args_.Add("block", kernel.workgroup);
  }
  End();
  return {};
}

Status RocprofEvents::Add(const RocprofCopy& copy, const RocprofPlace& place) {
  REPRISE_TRY(Begin("gpu_memcpy", CopyName(copy),
                    {.start_ns = copy.start_ns, .end_ns = copy.end_ns}, place));
  AddWork(copy.device, copy.stream, copy.correlation);
  if (copy.bytes) {
    args_.Add("bytes", *copy.bytes);
  }
  End();
  return {};
}

Status RocprofEvents::BeginCall(std::string_view category, std::string_view name,
                                const RocprofCall& call, const RocprofPlace& place) {
  REPRISE_TRY(Begin(category, name, {.start_ns = call.start_ns, .end_ns = call.end_ns}, place));
  events_.AddRow(context_.process, call.thread);
  return {};
}

Status RocprofEvents::Add(const RocprofCall& call, const RocprofPlace& place) {
  switch (DomainOf(call)) {
    case CallDomain::kMarker:
      return AddRange(call, place);
    case CallDomain::kRccl:
      return AddTransfer(call, place);
    case CallDomain::kRuntime:
      REPRISE_TRY(BeginCall("cuda_runtime", call.name, call, place));
      waits_.SeeCall(call);
      break;
    case CallDomain::kDriver:
      REPRISE_TRY(BeginCall("cuda_driver", call.name, call, place));
      break;
    case CallDomain::kOther:
      return {};
  }
  AddCorrelation(call.correlation);
  End();
  return {};
}

Status RocprofEvents::AddRange(const RocprofCall& call, const RocprofPlace& place) {
  if (!IsMarkedRange(call)) {
    return {};
  }
  const std::string_view text = call.message.empty() ? call.name : call.message;
  const NvtxRange range = ParseNvtxRange(text);
  REPRISE_TRY(BeginCall(range.is_operator ? "cpu_op" : "user_annotation", range.name, call, place));
  steps_.Add(text, call.thread, *call.start_ns, *call.end_ns);
  if (range.sequence) {
    args_.Add("Sequence number", *range.sequence);
  }
  if (range.is_backward) {
    args_.Add("Fwd thread id", 1);  // which one, the sequence number says
  }
  End();
  return {};
}

Status RocprofEvents::AddTransfer(const RocprofCall& call, const RocprofPlace& place) {
  const auto kind = NcclCallKind(call.name);
  const bool group = call.name == "ncclGroupEnd";  // launches what the group's calls asked for
  if (kind) {
    REPRISE_TRY(BeginCall("cpu_op", "record_param_comms", call, place));
    AddRcclArguments(*kind, call.arguments, context_.rccl_members, args_);
    End();
  } else if (group) {
    REPRISE_TRY(BeginCall("user_annotation", "nccl:coalesced", call, place));
    End();
  }
  if ((kind || group) && !context_.has_hip_calls && call.correlation) {
    REPRISE_TRY(BeginCall("cuda_runtime", call.name, call, place));
    AddCorrelation(call.correlation);
    End();
  }
  return {};
}

Status RocprofEvents::Finish() {
  REPRISE_TRY(AddSteps());
  return AddWaits();
}

Status RocprofEvents::AddWaits() {
  RocprofPlace place{.list = "waits"};
  for (const StreamWaits::Wait& wait : waits_.Find()) {
    ++place.record;
    REPRISE_TRY(Begin("cuda_sync", "Stream Wait Event",
                      {.start_ns = wait.start_ns, .end_ns = wait.end_ns}, place));
    events_.AddRow(wait.device, wait.stream);
    args_.Add("device", wait.device);
    args_.Add("stream", wait.stream);
    args_.Add("correlation", wait.correlation);
    args_.Add("wait_on_stream", wait.source_stream);
    args_.Add("wait_on_cuda_event_record_corr_id", wait.source_correlation);
    End();
  }
  return {};
}

Status RocprofEvents::AddSteps() {
  const FoundSteps found = steps_.Find();
  RocprofPlace place{.list = "steps"};
  for (const FoundStep& step : found.steps) {
    ++place.record;
    REPRISE_TRY(BeginCall(
        "user_annotation", fmt::format("ProfilerStep#{}", step.number),
        {.start_ns = step.start_ns, .end_ns = step.end_ns, .thread = found.thread}, place));
    End();
  }
  return {};
}

}  // namespace reprise::pytorch
