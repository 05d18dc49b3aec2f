#include "converters/pytorch/xla/host_lines.h"

#include <fmt/format.h>

#include "converters/pytorch/kineto/event_categories.h"

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kSpansThread = 1'000'000;

// Of CUDA's and HIP's APIs: "cuLaunchKernel", "hipMemcpyDtoDAsync", "cudaStreamSynchronize".
bool IsDeviceCall(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) {
      const char next = name[prefix.size()];
      return next >= 'A' && next <= 'Z';
    }
  }
  return false;
}

// What the runtime says of its own threads and queues.
bool IsNoise(std::string_view name) {
  return name.starts_with("ThreadpoolListener") || name.starts_with("end: ");
}

}  // namespace

void HostLines::Begin(std::string_view category, std::string_view name, std::int64_t start_ns,
                      std::int64_t end_ns, std::int64_t thread) {
  events_.Begin("X");
  events_.AddText("cat", category);
  events_.AddText("name", name);
  events_.AddTime(start_ns);
  events_.AddDuration(end_ns - start_ns);
  events_.AddRow(process_, thread);
}

void HostLines::AddSpan(std::string_view name, std::int64_t start_ns, std::int64_t end_ns) {
  Begin("user_annotation", name, start_ns, end_ns, kSpansThread);
  events_.End();
}

Status HostLines::Add(const XSpaceReader& reader, const XSpaceField& field) {
  const XPlane& plane = profile_.Plane(reader.plane());
  const XLineInfo& line = plane.lines[static_cast<std::size_t>(reader.line())];
  XEvent event;
  bool aggregated = false;
  OperationFacts facts;
  if (!ReadXEvent(field.field.bytes, line, event, aggregated) ||
      !ReadFacts(plane, field.field.bytes, event.metadata, facts)) {
    return reader.Damaged(field.at_byte, "an event is malformed, or has a time that can't be");
  }
  const std::int64_t thread = reader.line() + 1;
  if (aggregated || facts.name.empty()) {
    return {};
  }
  const bool launches = facts.correlation > 0 && launched_.contains(facts.correlation);
  if (launches || IsDeviceCall(facts.name)) {
    const bool waits = IsHostWait(RuntimeKindOf(facts.name));
    if (launches || (first_ && waits)) {
      Begin("cuda_runtime", facts.name, event.start_ns, event.end_ns, thread);
      if (facts.correlation > 0) {
        EventArguments args;
        args.Add("correlation", facts.correlation);
        events_.AddArguments(args.Take());
      }
      events_.End();
    }
    return {};
  }
  if (facts.step >= 0 && steps_) {
    Begin("user_annotation", fmt::format("ProfilerStep#{}", facts.step), event.start_ns,
          event.end_ns, thread);
    events_.End();
    return {};
  }
  if (!first_ || !facts.hlo_op.empty() || event.end_ns == event.start_ns || IsNoise(facts.name)) {
    return {};
  }
  if (facts.name.starts_with('$')) {
    ++counts_["xla_python_frame"];
    return {};
  }
  Begin("user_annotation", facts.name, event.start_ns, event.end_ns, thread);
  events_.End();
  return {};
}

}  // namespace reprise::pytorch
