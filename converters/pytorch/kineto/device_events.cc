#include "converters/pytorch/kineto/device_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "converters/json_members.h"
#include "converters/pytorch/host/process_groups.h"
#include "converters/pytorch/kineto/stream_overlaps.h"
#include "core/counters.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

// A number, or a string that holds one (ROCm writes some that way).
std::int64_t IntegerOr(const JsonMember& value, std::int64_t fallback) {
  std::int64_t out = 0;
  if (value.get(out) == simdjson::SUCCESS) {
    return out;
  }
  if (double real = 0; value.get(real) == simdjson::SUCCESS && real > -9e18 && real < 9e18) {
    return static_cast<std::int64_t>(real);
  }
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) {
    return ParseNumber<std::int64_t>(text).value_or(fallback);
  }
  return fallback;
}

std::optional<std::int64_t> RecordedInteger(const JsonMember& value) {
  const std::int64_t number = IntegerOr(value, INT64_MIN);
  return number == INT64_MIN ? std::nullopt : std::optional(number);
}

// Kineto writes lists as strings, shortened with "..." when long: then nothing is known.
std::vector<std::int64_t> ListOr(const JsonMember& value) {
  const std::string_view text = TextOr(value);
  return text.find("...") == std::string::npos ? ParseIntegerList(text)
                                               : std::vector<std::int64_t>();
}

std::array<std::int32_t, 3> Three(const JsonMember& value) {
  std::array<std::int32_t, 3> out{};
  simdjson::dom::array list;
  if (value.get(list) == simdjson::SUCCESS) {
    std::size_t i = 0;
    for (const element item : list) {
      std::int64_t number = 0;
      if (i < out.size() && item.get(number) == simdjson::SUCCESS) {
        out.at(i++) = static_cast<std::int32_t>(number);
      }
    }
  }
  return out;
}

bool IsRuntime(std::string_view category) {
  return category.ends_with("_runtime") || category.ends_with("_driver") || category == "Runtime";
}

std::optional<DeviceEvent::Kind> WorkOf(std::string_view category) {
  using Kind = DeviceEvent::Kind;
  constexpr std::pair<std::string_view, Kind> kWork[] = {
      {"kernel", Kind::kKernel}, {"gpu_memcpy", Kind::kMemcpy}, {"gpu_memset", Kind::kMemset},
      {"Kernel", Kind::kKernel}, {"Memcpy", Kind::kMemcpy},     {"Memset", Kind::kMemset}};
  for (const auto& [name, kind] : kWork) {
    if (name == category) {
      return kind;
    }
  }
  return std::nullopt;
}

// "cudaStreamSynchronize", "hipStreamSynchronize", "cuStreamSynchronize", and per-thread variants
// ("cudaStreamSynchronize_ptsz").
RuntimeKind RuntimeKindOf(std::string_view name) {
  constexpr std::pair<std::string_view, RuntimeKind> kParts[] = {
      {"EventRecord", RuntimeKind::kRecordEvent},
      {"StreamWaitEvent", RuntimeKind::kStreamWait},
      {"EventSynchronize", RuntimeKind::kEventSync},
      {"StreamSynchronize", RuntimeKind::kStreamSync},
      {"DeviceSynchronize", RuntimeKind::kDeviceSync},
      {"CtxSynchronize", RuntimeKind::kDeviceSync}};
  for (const auto& [part, kind] : kParts) {
    if (name.find(part) != std::string_view::npos) {
      return kind;
    }
  }
  return name == "cudaMemcpy" || name == "hipMemcpy" || name == "hipMemcpyWithStream"
             ? RuntimeKind::kStreamSync
             : RuntimeKind::kOther;
}

void AddCall(element event, std::int64_t start_ns, std::int64_t end_ns, BatchStrings& strings,
             DeviceTrace& trace) {
  const std::string_view name = TextOr(event["name"]);
  trace.calls.push_back({.name = strings.Intern(name),
                         .kind = RuntimeKindOf(name),
                         .thread = IntegerOr(event["tid"], -1),
                         .start_ns = start_ns,
                         .end_ns = end_ns,
                         .correlation = IntegerOr(event["args"]["correlation"], -1),
                         .stream = RecordedInteger(event["args"]["stream"])});
}

void AddWork(element event, DeviceEvent::Kind kind, std::int64_t start_ns, std::int64_t end_ns,
             BatchStrings& strings, DeviceTrace& trace) {
  DeviceEvent& out = trace.events.emplace_back();
  out.kind = kind;
  out.name = strings.Intern(TextOr(event["name"]));
  out.start_ns = start_ns;
  out.end_ns = end_ns;
  const auto args = event["args"];
  out.device = static_cast<std::int32_t>(IntegerOr(args["device"], IntegerOr(event["pid"], 0)));
  out.stream = IntegerOr(args["stream"], IntegerOr(event["tid"], 0));
  out.external_id = IntegerOr(args["External id"], IntegerOr(args["external id"], -1));
  out.work.correlation = IntegerOr(args["correlation"], -1);
  out.work.grid = Three(args["grid"]);
  out.work.block = Three(args["block"]);
  out.work.registers_per_thread =
      static_cast<std::int32_t>(IntegerOr(args["registers per thread"], -1));
  out.work.shared_memory_bytes = IntegerOr(args["shared memory"], -1);
  out.work.copied_bytes = IntegerOr(args["bytes"], -1);
  element known;
  element all;
  if (args["Collective name"].get(known) == simdjson::SUCCESS &&
      args.get(all) == simdjson::SUCCESS) {
    out.comm = ReadCommAttributes(all);
  }
}

void AddSync(element event, DeviceTrace& trace) {
  const auto args = event["args"];
  trace.syncs.push_back(
      {.correlation = IntegerOr(args["correlation"], -1),
       .device = static_cast<std::int32_t>(IntegerOr(args["device"], 0)),
       .stream = IntegerOr(args["stream"], -1),
       .source_stream = IntegerOr(args["wait_on_stream"], -1),
       .source_correlation = IntegerOr(args["wait_on_cuda_event_record_corr_id"], -1)});
}

}  // namespace

bool IsDeviceCategory(std::string_view category) { return WorkOf(category) || IsRuntime(category); }

void AddDeviceEvent(element event, std::string_view category, std::int64_t start_ns,
                    std::int64_t end_ns, BatchStrings& strings, DeviceTrace& trace) {
  if (const auto kind = WorkOf(category)) {
    AddWork(event, *kind, start_ns, end_ns, strings, trace);
  } else if (IsRuntime(category)) {
    AddCall(event, start_ns, end_ns, strings, trace);
  } else if (category.ends_with("_sync")) {
    AddSync(event, trace);
  }
}

std::unique_ptr<CommAttributes> ReadCommAttributes(element args) {
  auto comm = std::make_unique<CommAttributes>();
  comm->collective = TextOr(args["Collective name"]);
  comm->dtype = TextOr(args["dtype"]);
  comm->group_name = TextOr(args["Process Group Name"]);
  comm->group_description = TextOr(args["Process Group Description"]);
  comm->ranks = ListOr(args["Process Group Ranks"]);
  comm->in_splits = ListOr(args["In split size"]);
  comm->out_splits = ListOr(args["Out split size"]);
  comm->in_elements = IntegerOr(args["In msg nelems"], -1);
  comm->out_elements = IntegerOr(args["Out msg nelems"], -1);
  comm->group_size = IntegerOr(args["Group size"], -1);
  comm->sequence = IntegerOr(args["Seq"], -1);
  comm->peer = IntegerOr(args["Src Rank"], IntegerOr(args["Dst Rank"], -1));
  return comm;
}

void KeepSpan(std::int64_t start_ns, std::int64_t end_ns, const std::string& label,
              DeviceTrace& trace, Diagnostics& diagnostics) {
  std::unordered_map<std::int64_t, bool> inside;  // by correlation
  for (const RuntimeCall& call : trace.calls) {
    inside[call.correlation] = call.start_ns >= start_ns && call.start_ns <= end_ns;
  }
  std::erase_if(trace.calls, [&](const RuntimeCall& call) {
    return call.start_ns < start_ns || call.start_ns > end_ns;
  });
  std::int64_t removed_ns = 0;
  const std::size_t removed = std::erase_if(trace.events, [&](const DeviceEvent& event) {
    const auto call = inside.find(event.work.correlation);
    const bool outside =
        call != inside.end() ? !call->second : event.start_ns < start_ns || event.start_ns > end_ns;
    if (outside) {
      removed_ns += event.end_ns - event.start_ns;
      trace.recorded_ns[event.Place()] -= event.end_ns - event.start_ns;
    }
    return outside;
  });
  if (removed > 0) {
    CountTime("device_event_of_another_step", removed_ns, diagnostics, label, removed);
  }
}

void FinishDeviceTrace(const std::string& label, std::int64_t host_end_ns, DeviceTrace& trace,
                       Diagnostics& diagnostics) {
  std::int64_t recorded_ns = 0;
  for (const DeviceEvent& event : trace.events) {
    recorded_ns += event.end_ns - event.start_ns;
    trace.recorded_ns[event.Place()] += event.end_ns - event.start_ns;
  }
  if (!trace.empty()) {
    diagnostics.Count("device_time_ns", {}, static_cast<std::uint64_t>(recorded_ns));
  }
  // Readers add from several threads: the order must not depend on luck.
  std::sort(trace.calls.begin(), trace.calls.end(), [](const RuntimeCall& a, const RuntimeCall& b) {
    return std::tie(a.start_ns, a.correlation, *a.name) <
           std::tie(b.start_ns, b.correlation, *b.name);
  });
  const auto key = [](const DeviceEvent& e) {
    return std::tie(e.start_ns, e.end_ns, e.device, e.stream, e.work.correlation, *e.name);
  };
  std::sort(trace.events.begin(), trace.events.end(),
            [&](const DeviceEvent& a, const DeviceEvent& b) { return key(a) < key(b); });
  const auto twice =
      std::unique(trace.events.begin(), trace.events.end(),
                  [&](const DeviceEvent& a, const DeviceEvent& b) { return key(a) == key(b); });
  if (const auto count = trace.events.end() - twice; count > 0) {
    std::int64_t dropped_ns = 0;
    std::for_each(twice, trace.events.end(),
                  [&](const DeviceEvent& event) { dropped_ns += event.end_ns - event.start_ns; });
    CountTime("duplicate_device_event", dropped_ns, diagnostics, label,
              static_cast<std::uint64_t>(count));
    trace.events.erase(twice, trace.events.end());
  }
  std::sort(trace.syncs.begin(), trace.syncs.end(), [](const SyncRecord& a, const SyncRecord& b) {
    return std::tie(a.correlation, a.stream) < std::tie(b.correlation, b.stream);
  });
  SettleStreams(label, host_end_ns, trace, diagnostics);
}

}  // namespace reprise::pytorch
