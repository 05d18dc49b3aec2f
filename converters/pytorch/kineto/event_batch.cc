#include "converters/pytorch/kineto/event_batch.h"

#include <cmath>

#include "converters/json_members.h"
#include "converters/pytorch/kineto/counters.h"
#include "converters/pytorch/kineto/kineto_host.h"
#include "converters/pytorch/kineto/shape_hash.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

constexpr std::int64_t kNone = -1;

// Of tensors alone: lists of tensors are written by some versions only.
std::uint32_t HashInputDims(const JsonMember& dims) {
  ShapeHash hash;
  simdjson::dom::array inputs;
  if (dims.get(inputs) != simdjson::SUCCESS) {
    return 0;
  }
  for (const element input : inputs) {
    simdjson::dom::array shape;
    if (input.get(shape) != simdjson::SUCCESS) {
      continue;
    }
    hash.Begin();
    for (const element size : shape) {
      if (std::int64_t value = 0; size.get(value) == simdjson::SUCCESS) {
        hash.Add(value);
      }
    }
  }
  return hash.Get();
}

}  // namespace

// {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 10159, "ts": 4370094527776.776,
//  "dur": 290.974, "args": {"External id": 3, "Record function id": 4, …}}
bool EventBatch::Read(element root, const RawNumbers& raw) {
  const auto [phase, kind, named, process, thread, start, duration, args] =
      FindMembers(root, {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"});
  const std::string_view form = TextOr(phase);
  if (form == "M") {
    ReadProcessName(TextOr(named), process, args);
  }
  if (form == "E") {
    const auto at_ns = ReadMicroseconds(start, "ts", raw);
    part_.halves.push_back({.row = part_.rows.Find(process, thread),
                            .at_ns = at_ns.value_or(0),
                            .slice = GetOr(root["slice"], kNone)});
    return at_ns.has_value();
  }
  if ((form == "s" || form == "f") && TextOr(kind) == "async_npu") {
    AddArrow(form == "s", root["id"], part_.rows.Find(process, thread), start, raw);
    return true;
  }
  if (form == "C") {
    return AddCounter(TextOr(named), process, start, args, raw);
  }
  const bool begins = form == "B";
  if (form != "X" && !begins) {
    return true;
  }
  const std::string_view category_name = TextOr(kind);
  const EventCategory category = KnownCategory(category_name);
  const bool host = category == EventCategory::kOperator || category == EventCategory::kAnnotation;
  std::string_view name;
  const bool has_name = named.get(name) == simdjson::SUCCESS;
  const bool ignored = category == EventCategory::kNoise ||
                       (category == EventCategory::kPython && !name.starts_with("nn.Module: "));
  if (ignored && !begins) {
    return true;
  }
  EventSpan span;
  if (begins) {
    const auto at_ns = ReadMicroseconds(start, "ts", raw);
    span = {at_ns.value_or(0), at_ns.value_or(0)};
    part_.halves.push_back({.begins = true,
                            .row = part_.rows.Find(process, thread),
                            .at_ns = span.start_ns,
                            .slice = GetOr(root["slice"], kNone)});
    if (ignored || !has_name || !at_ns) {
      return ignored;
    }
  } else if (const auto read = has_name ? ReadSpan(start, duration, raw) : std::nullopt) {
    span = *read;
  } else {
    return !host && !IsDeviceSide(category);
  }
  if (host) {
    AddOperation(category, name, part_.rows.Find(process, thread), span, args);
  } else if (category == EventCategory::kPython) {
    part_.modules.push_back({.name = strings_.Intern(name),
                             .thread = part_.rows.Find(process, thread),
                             .start_ns = span.start_ns,
                             .end_ns = span.end_ns});
  } else if (category == EventCategory::kOther) {
    AddOther(root, category_name, part_.rows.Find(process, thread), span);
  } else if (category == EventCategory::kRuntime) {
    AddCall(name, part_.rows.Find(process, thread), span, args);
  } else {
    AddDeviceEvent(root, category, span, strings_, part_.device);
  }
  if (begins) {
    SetPlace(category, part_.halves.back());
  }
  return true;
}

EventCategory EventBatch::KnownCategory(std::string_view name) {
  for (const auto& [known, category] : categories_) {
    if (known == name) {
      return category;
    }
  }
  return categories_.emplace_back(name, CategoryOf(name)).second;
}

void EventBatch::ReadProcessName(std::string_view what, const JsonMember& process,
                                 const JsonMember& args) {
  if (what == "process_name") {
    part_.processes[ReadRowId(process)].first = TextOr(args["name"]);
  } else if (what == "process_labels") {
    part_.processes[ReadRowId(process)].second = TextOr(args["labels"]);
  }
}

void EventBatch::AddOperation(EventCategory category, std::string_view name, std::int32_t row,
                              const EventSpan& span, const JsonMember& args) {
  const bool annotation = category == EventCategory::kAnnotation;
  EventRow& counts = part_.rows[row];
  ++counts.operations;
  counts.steps += name.starts_with("ProfilerStep#") ? 1 : 0;
  counts.communication_calls += name == "record_param_comms" ? 1 : 0;
  part_.events.push_back({.name = strings_.Intern(name),
                          .thread = row,
                          .start_ns = span.start_ns,
                          .end_ns = span.end_ns,
                          .annotation = annotation});
  if (args.error() == simdjson::SUCCESS) {
    ReadArguments(args.value_unsafe(), name, part_.events.back());
  }
}

void EventBatch::AddCall(std::string_view name, std::int32_t row, const EventSpan& span,
                         const JsonMember& args) {
  ++part_.rows[row].runtime_calls;
  const std::string* const known = strings_.Intern(name);
  const auto [kind, fresh] = call_kinds_.try_emplace(known);
  if (fresh) {
    kind->second = RuntimeKindOf(name);
  }
  part_.device.calls.push_back({.name = known,
                                .kind = kind->second,
                                .thread = row,
                                .start_ns = span.start_ns,
                                .end_ns = span.end_ns,
                                .correlation = ReadCorrelation(args),
                                .stream = IntegerIn(args["stream"])});
  if (const std::string_view kernel = TextOr(args["kernel"]); !kernel.empty()) {
    part_.device.calls.back().kernel = strings_.Intern(kernel);
  }
}

void EventBatch::AddArrow(bool begins, const JsonMember& id, std::int32_t row,
                          const JsonMember& start, const RawNumbers& raw) {
  const auto number = IntegerIn(id);
  const auto at_ns = ReadMicroseconds(start, "ts", raw);
  if (number && at_ns) {
    part_.arrows.push_back({.begins = begins, .id = *number, .row = row, .at_ns = *at_ns});
  }
}

// {"ph": "C", "name": "Power (W)", "pid": "GPU 0 Counters", "ts": …, "args": {"": 412.5}}
bool EventBatch::AddCounter(std::string_view name, const JsonMember& process,
                            const JsonMember& start, const JsonMember& args,
                            const RawNumbers& raw) {
  const auto counter = FindCounter(name);
  const auto device = counter ? CounterDevice(TextOr(process)) : std::nullopt;
  simdjson::dom::object values;
  if (!device || args.get(values) != simdjson::SUCCESS || values.size() != 1) {
    ++part_.counters_left_out[std::string(name)];
    return true;
  }
  double value = 0;
  const auto at_ns = ReadMicroseconds(start, "ts", raw);
  if (!at_ns || (*values.begin()).value.get(value) != simdjson::SUCCESS) {
    return false;
  }
  const double millionths = value * counter->per_unit * 1e6;
  if (!(std::abs(millionths) < 9e18)) {  // nor NaN
    return false;
  }
  part_.counters.push_back({.quantity = counter->quantity,
                            .device = *device,
                            .at_ns = *at_ns,
                            .millionths = std::llround(millionths)});
  return true;
}

void EventBatch::AddOther(element root, std::string_view category, std::int32_t row,
                          const EventSpan& span) {
  part_.others.push_back(
      {.category = strings_.Intern(category),
       .row = row,
       .names_stream = NamesStream(root),
       .stream_sync = IsStreamSync(TextOr(root["name"])) ||
                      IsStreamSync(TextOr(root["args"]["Task Type"])),  // Ascend's
       .event = ReadDeviceEvent(root, DeviceEvent::Kind::kKernel, span, strings_)});
}

void EventBatch::SetPlace(EventCategory category, EventHalf& half) const {
  using List = EventHalf::List;
  if (category == EventCategory::kOperator || category == EventCategory::kAnnotation) {
    half.list = List::kEvents;
    half.index = part_.events.size() - 1;
  } else if (category == EventCategory::kPython) {
    half.list = List::kModules;
    half.index = part_.modules.size() - 1;
  } else if (category == EventCategory::kOther) {
    half.list = List::kOthers;
    half.index = part_.others.size() - 1;
  } else if (category == EventCategory::kRuntime) {
    half.list = List::kCalls;
    half.index = part_.device.calls.size() - 1;
  } else if (IsDeviceSide(category) && category != EventCategory::kSync) {
    half.list = List::kDevice;
    half.index = part_.device.events.size() - 1;
  }
}

void EventBatch::ReadArguments(element args, std::string_view name, KinetoEvent& event) const {
  simdjson::dom::object object;
  if (args.get(object) != simdjson::SUCCESS) {
    return;
  }
  event.rf_id = GetOr(args["Record function id"], kNone);
  event.external_id = GetOr(args["External id"], kNone);
  event.ev_idx = GetOr(args["Ev Idx"], kNone);
  event.seq_id = GetOr(args["Sequence number"], kNone);
  event.input_shapes = HashInputDims(args["Input Dims"]);
  if (name == "record_param_comms") {
    event.comm = ReadCommAttributes(args);
  }
  if (with_arguments_) {
    event.arguments = ReadKinetoArguments(args);
  }
}

}  // namespace reprise::pytorch
