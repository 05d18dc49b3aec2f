#include "converters/pytorch/kineto/device_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "converters/json_members.h"
#include "converters/pytorch/host/process_groups.h"
#include "converters/pytorch/kineto/event_rows.h"
#include "converters/pytorch/kineto/stream_overlaps.h"
#include "core/counters.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

std::int64_t IntegerOr(const JsonMember& value, std::int64_t fallback) {
  return IntegerIn(value).value_or(fallback);
}

// Kineto writes lists as strings; some versions as lists.
std::vector<std::int64_t> ListIn(const JsonMember& value, bool& cut) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    return ParseIntegerList(TextOr(value), cut);
  }
  std::vector<std::int64_t> out;
  for (const element item : list) {
    std::int64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS) {
      cut = true;
      return {};
    }
    out.push_back(number);
  }
  return out;
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

// The first of the arguments that is there: Ascend's have names of their own.
std::int64_t ArgumentOr(const JsonMember& args, std::initializer_list<std::string_view> names,
                        std::int64_t fallback) {
  for (const std::string_view name : names) {
    if (const JsonMember value = args[name]; value.error() == simdjson::SUCCESS) {
      return IntegerOr(value, fallback);
    }
  }
  return fallback;
}

// PyTorch may show work of a graph on a row of its own; "original_stream" is where it ran.
std::int64_t StreamOr(const JsonMember& args, std::int64_t fallback) {
  return ArgumentOr(args, {"original_stream", "stream", "Stream Id", "Physic Stream Id"}, fallback);
}

void AddSync(element event, DeviceTrace& trace) {
  const auto args = event["args"];
  if (IntegerOr(args["correlation"], -1) < 0) {
    return;  // of no call
  }
  trace.syncs.push_back(
      {.correlation = IntegerOr(args["correlation"], -1),
       .device = static_cast<std::int32_t>(IntegerOr(args["device"], 0)),
       .stream = IntegerOr(args["stream"], -1),
       .source_stream = IntegerOr(args["wait_on_stream"], -1),
       .source_correlation = IntegerOr(args["wait_on_cuda_event_record_corr_id"], -1)});
}

std::unique_ptr<CompiledOperation> ReadCompiled(const JsonMember& args, BatchStrings& strings) {
  auto out = std::make_unique<CompiledOperation>();
  out->name = strings.Intern(TextOr(args["hlo_op"]));
  out->path = strings.Intern(TextOr(args["hlo_path"]));
  out->op_class = ParseName<OpClass>(TextOr(args["hlo_class"])).value_or(OpClass::kOther);
  out->flops = IntegerOr(args["flops"], -1);
  out->accessed_bytes = IntegerOr(args["bytes accessed"], -1);
  out->item = IntegerOr(args["item"], -1);
  bool cut = false;
  out->after = ListIn(args["after"], cut);
  return out;
}

// "hcom_allReduce__586_0_1" with {"data_type": "FP32", "count": 4097000}: the number behind the
// kind is the group's. A count is of what a rank gives; of a reduce_scatter, scatter or receive, of
// what it gets. An all_to_all's may be of one peer or of all: it is not taken.
std::unique_ptr<CommAttributes> ReadHcclAttributes(std::string_view name, const JsonMember& args) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"FP32", "Float"},  {"FP16", "Half"},  {"BFP16", "BFloat16"},
      {"FP64", "Double"}, {"INT8", "Char"},  {"INT32", "Int"},
      {"INT64", "Long"},  {"UINT8", "Byte"}, {"INT16", "Short"}};
  auto comm = std::make_unique<CommAttributes>();
  const std::string_view type = TextOr(args["data_type"]);
  const auto* const known =
      std::ranges::find(kTypes, type, [](const auto& one) { return one.first; });
  if (known != std::end(kTypes)) {
    comm->dtype = known->second;
  }
  const auto count = IntegerIn(args["count"]);
  const std::string kind = LowerCase(name);
  const auto says = [&kind](std::string_view word) { return kind.find(word) != std::string::npos; };
  if (says("scatter") || says("receive")) {
    comm->out_elements = count;
  } else if (!says("alltoall")) {
    comm->in_elements = count;
  }
  if (const std::size_t at = name.find("__"); at != std::string_view::npos) {
    const std::string_view rest = name.substr(at + 2);
    comm->group_name = rest.substr(0, rest.find('_'));
  }
  return comm;
}

// "pinned" or 2, as CUPTI numbers kinds of memory → "Pinned".
std::string MemoryKind(const JsonMember& value) {
  constexpr std::string_view kKinds[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                         "Array",   "Managed",  "Device Static", "Managed Static"};
  if (const auto number = IntegerIn(value);
      number && *number >= 0 && *number < std::ssize(kKinds)) {
    return std::string(kKinds[*number]);
  }
  std::string kind(TextOr(value));
  bool first = true;
  for (char& c : kind) {
    c = c == '_' ? ' ' : c;
    c = first && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    first = c == ' ';
  }
  return kind;
}

// Kineto's name of a copy or fill, whose kinds are arguments where PyTorch's profiler records by
// CUPTI's Python bindings (from 2.15 on).
std::string WholeName(const std::string& name, const JsonMember& args) {
  if (const std::string_view kind = TextOr(args["copy kind"]); !kind.empty()) {
    return fmt::format("{} {} ({} -> {})", name, kind, MemoryKind(args["src kind"]),
                       MemoryKind(args["dst kind"]));
  }
  const std::string memory = MemoryKind(args["memory kind"]);
  return memory.empty() ? name : fmt::format("{} ({})", name, memory);
}

}  // namespace

DeviceEvent ReadDeviceEvent(element event, DeviceEvent::Kind kind, const EventSpan& span,
                            BatchStrings& strings) {
  DeviceEvent out;
  out.kind = kind;
  const auto args = event["args"];
  out.name = strings.Intern(TextOr(event["name"]));
  if (*out.name == "Memcpy" || *out.name == "Memset") {
    out.name = strings.Intern(WholeName(*out.name, args));
  }
  out.start_ns = span.start_ns;
  out.end_ns = span.end_ns;
  // Rows of devices have their numbers for a process; Ascend's, of one device, have made-up ones.
  constexpr std::int64_t kMostDevices = 4096;
  const std::int64_t device = ArgumentOr(args, {"device", "Device Id"}, RowNumber(event["pid"], 0));
  out.device = static_cast<std::int32_t>(device < kMostDevices ? device : 0);
  out.stream = StreamOr(args, RowNumber(event["tid"], 0));
  out.external_id = ArgumentOr(args, {"External id", "external id"}, -1);
  out.graph_node_id = IntegerOr(args["graph node id"], -1);
  out.graph_id = out.graph_node_id < 0 ? -1 : IntegerOr(args["graph id"], -1);
  out.work.correlation = ReadCorrelation(args);
  out.work.grid = Three(args["grid"]);
  out.work.block = Three(args["block"]);
  out.work.registers_per_thread =
      static_cast<std::int32_t>(IntegerOr(args["registers per thread"], -1));
  out.work.shared_memory_bytes = IntegerOr(args["shared memory"], -1);
  out.work.copied_bytes = IntegerOr(args["bytes"], -1);
  element known;
  element all;
  if ((args["Collective name"].get(known) == simdjson::SUCCESS ||
       args["Process Group Name"].get(known) == simdjson::SUCCESS) &&
      args.get(all) == simdjson::SUCCESS) {
    out.comm = ReadCommAttributes(all);
  } else if (out.name->starts_with("hcom_")) {
    out.comm = ReadHcclAttributes(*out.name, args);
  }
  if (args["hlo_op"].get(known) == simdjson::SUCCESS) {
    out.compiled = ReadCompiled(args, strings);
  }
  return out;
}

bool NamesStream(element event) { return StreamOr(event["args"], -1) >= 0; }

std::optional<std::int64_t> IntegerIn(const JsonMember& value) {
  std::int64_t out = 0;
  if (value.get(out) == simdjson::SUCCESS) {
    return out;
  }
  if (double real = 0; value.get(real) == simdjson::SUCCESS && real > -9e18 && real < 9e18) {
    return static_cast<std::int64_t>(real);
  }
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) {
    return ParseNumber<std::int64_t>(text);
  }
  return std::nullopt;
}

std::int64_t ReadCorrelation(const JsonMember& args) {
  return ArgumentOr(args, {"correlation", "connection_id"}, -1);
}

void AddDeviceEvent(element event, EventCategory category, const EventSpan& span,
                    BatchStrings& strings, DeviceTrace& trace) {
  using Kind = DeviceEvent::Kind;
  switch (category) {
    case EventCategory::kKernel:
      trace.events.push_back(ReadDeviceEvent(event, Kind::kKernel, span, strings));
      break;
    case EventCategory::kMemcpy:
      trace.events.push_back(ReadDeviceEvent(event, Kind::kMemcpy, span, strings));
      break;
    case EventCategory::kMemset:
      trace.events.push_back(ReadDeviceEvent(event, Kind::kMemset, span, strings));
      break;
    case EventCategory::kSync:
      AddSync(event, trace);
      break;
    default:
      break;
  }
}

std::unique_ptr<CommAttributes> ReadCommAttributes(element args) {
  auto comm = std::make_unique<CommAttributes>();
  comm->collective = TextOr(args["Collective name"]);
  comm->dtype = TextOr(args["dtype"]);
  comm->group_name = TextOr(args["Process Group Name"]);
  comm->group_description = TextOr(args["Process Group Description"]);
  comm->ranks = ListIn(args["Process Group Ranks"], comm->ranks_cut);
  comm->in_splits = ListIn(args["In split size"], comm->splits_cut);
  comm->out_splits = ListIn(args["Out split size"], comm->splits_cut);
  comm->in_elements = IntegerIn(args["In msg nelems"]);
  comm->out_elements = IntegerIn(args["Out msg nelems"]);
  comm->in_bytes = IntegerIn(args["In msg bytes"]);
  comm->out_bytes = IntegerIn(args["Out msg bytes"]);
  comm->group_size = IntegerIn(args["Group size"]);
  comm->rank_start = IntegerIn(args["Global rank start"]);
  comm->rank_stride = IntegerIn(args["Global rank stride"]);
  comm->rank = IntegerIn(args["Rank"]);
  comm->source = IntegerIn(args["Src Rank"]);
  comm->destination = IntegerIn(args["Dst Rank"]);
  comm->sequence = IntegerIn(args["Seq"]);
  comm->async = GetOr(args["Is asynchronized op"], false);
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
