#include "converters/pytorch/kineto/kineto.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "converters/json_members.h"
#include "converters/json_stream.h"
#include "converters/pytorch/kineto/kineto_header.h"
#include "converters/pytorch/kineto/kineto_host.h"
#include "converters/pytorch/kineto/shape_hash.h"
#include "core/clock.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

// "ts" is in µs with a fraction. Since-boot values keep their nanoseconds in a double (2^53 ns are
// 104 days); since-epoch values of old files do not, but those have whole µs anyway.
bool ReadMicroseconds(element value, std::int64_t& ns) {
  std::int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS && whole > -kMaxUs && whole < kMaxUs) {
    ns = whole * kNsPerUs;
    return true;
  }
  double us = 0;
  if (value.get(us) != simdjson::SUCCESS) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS ||
        std::from_chars(text.data(), text.data() + text.size(), us).ec != std::errc()) {
      return false;
    }
  }
  if (!(std::abs(us) < static_cast<double>(kMaxUs))) {  // nor NaN
    return false;
  }
  ns = std::llround(us * static_cast<double>(kNsPerUs));
  return true;
}

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

// False: it has no times.
bool ReadSpan(const JsonMember& start, const JsonMember& duration, std::int64_t& start_ns,
              std::int64_t& end_ns) {
  std::int64_t duration_ns = 0;
  if (start.error() != simdjson::SUCCESS || !ReadMicroseconds(start.value_unsafe(), start_ns) ||
      duration.error() != simdjson::SUCCESS ||
      !ReadMicroseconds(duration.value_unsafe(), duration_ns) || duration_ns < 0) {
    return false;
  }
  end_ns = start_ns + duration_ns;
  return true;
}

// What one batch of events holds. Times are those of the file, without its base.
struct KinetoPart {
  std::vector<KinetoEvent> events;
  std::vector<ModuleCall> modules;
  DeviceTrace device;
  std::vector<std::size_t> damaged;  // byte offsets
  std::int64_t process = -1;         // of the first event
};

class BatchOfEvents {
 public:
  BatchOfEvents(bool with_arguments, StringPool& strings, KinetoPart& part)
      : with_arguments_(with_arguments), strings_(strings), part_(part) {}

  // {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 10159, "ts": 4370094527776.776,
  //  "dur": 290.974, "args": {"External id": 3, "Record function id": 4, …}}
  // False: damaged.
  bool Read(element root) {
    const auto [phase, kind, named, process, thread, start, duration, args] =
        FindMembers(root, {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"});
    std::string_view category;
    if (TextOr(phase) != "X" || kind.get(category) != simdjson::SUCCESS || IsNoise(category)) {
      return true;
    }
    const bool annotation = category == "user_annotation";
    const bool host = annotation || category == "cpu_op" || category == "Operator";  // until 1.11
    const bool module = category == "python_function";
    std::string_view name;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    if (named.get(name) != simdjson::SUCCESS || (module && !name.starts_with("nn.Module: ")) ||
        !ReadSpan(start, duration, start_ns, end_ns)) {
      return !host && !IsDeviceCategory(category);
    }
    if (module) {
      part_.modules.push_back({.name = strings_.Intern(name),
                               .thread = GetOr(thread, kNone),
                               .start_ns = start_ns,
                               .end_ns = end_ns});
      return true;
    }
    if (!host) {
      AddDeviceEvent(root, category, start_ns, end_ns, strings_, part_.device);
      return true;
    }
    if (part_.events.empty()) {
      part_.process = GetOr(process, kNone);
    }
    part_.events.push_back({.name = strings_.Intern(name),
                            .thread = GetOr(thread, kNone),
                            .start_ns = start_ns,
                            .end_ns = end_ns,
                            .annotation = annotation});
    if (args.error() == simdjson::SUCCESS) {
      ReadArguments(args.value_unsafe(), name, part_.events.back());
    }
    return true;
  }

 private:
  static constexpr std::int64_t kNone = -1;

  static bool IsNoise(std::string_view category) {
    return category == "ac2g" || category == "fwdbwd";
  }

  void ReadArguments(element args, std::string_view name, KinetoEvent& event) const {
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

  bool with_arguments_;
  BatchStrings strings_;
  KinetoPart& part_;
};

template <typename T>
void AppendTo(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  std::vector<T>().swap(from);
}

// Frees parts as it goes: there is never room for all of them twice.
void Join(std::vector<KinetoPart>& parts, KinetoTrace& trace) {
  std::size_t events = 0;
  std::size_t calls = 0;
  std::size_t device_events = 0;
  for (const KinetoPart& part : parts) {
    events += part.events.size();
    calls += part.device.calls.size();
    device_events += part.device.events.size();
  }
  trace.events.reserve(events);
  trace.device.calls.reserve(calls);
  trace.device.events.reserve(device_events);
  for (KinetoPart& part : parts) {
    if (trace.events.empty()) {
      trace.process = part.process;  // events of other processes are rare and not followed
    }
    AppendTo(trace.events, part.events);
    AppendTo(trace.modules, part.modules);
    AppendTo(trace.device.calls, part.device.calls);
    AppendTo(trace.device.events, part.device.events);
    AppendTo(trace.device.syncs, part.device.syncs);
  }
}

// The file may name the base of its times after all of them.
void AddBase(std::int64_t base_ns, KinetoTrace& trace) {
  trace.first_ns = std::numeric_limits<std::int64_t>::max();
  trace.last_ns = std::numeric_limits<std::int64_t>::min();
  const auto add = [&](auto& list) {
    for (auto& item : list) {
      item.start_ns += base_ns;
      item.end_ns += base_ns;
      trace.first_ns = std::min(trace.first_ns, item.start_ns);
      trace.last_ns = std::max(trace.last_ns, item.end_ns);
    }
  };
  add(trace.events);
  add(trace.device.calls);
  add(trace.device.events);
  for (ModuleCall& call : trace.modules) {
    call.start_ns += base_ns;
    call.end_ns += base_ns;
  }
}

}  // namespace

Result<KinetoTrace> ReadKineto(TextSource& source, bool with_arguments, Diagnostics& diagnostics) {
  KinetoTrace trace;
  trace.strings = std::make_shared<StringPool>();
  std::vector<KinetoPart> parts;
  const auto read = [&](const JsonBatch& batch,
                        simdjson::dom::parser& parser) -> Result<std::function<void()>> {
    const auto part = std::make_shared<KinetoPart>();
    BatchOfEvents events(with_arguments, *trace.strings, *part);
    REPRISE_TRY(VisitElements(
        batch, parser,
        [&](element root, std::size_t index, ElementPlaces& places, bool /*patched*/) -> Status {
          if (!events.Read(root)) {
            part->damaged.push_back(places.AtByte(index));
          }
          return {};
        }));
    return [&parts, part] { parts.push_back(std::move(*part)); };
  };
  REPRISE_ASSIGN(const JsonFrame frame,
                 StreamObject(source, "traceEvents", read, "deviceProperties"));
  std::int64_t base_ns = 0;
  Join(parts, trace);
  REPRISE_TRY(ReadKinetoHeader(frame.file, frame.json, base_ns, trace, diagnostics));
  if (frame.element_error) {
    return tl::unexpected<Error>(*frame.element_error);
  }
  for (const KinetoPart& part : parts) {
    for (const std::size_t at_byte : part.damaged) {
      diagnostics.Count("kineto_event_without_time",
                        fmt::format("{}: byte {}", source.path(), at_byte));
    }
  }
  AddBase(base_ns, trace);
  std::int64_t host_end_ns = std::numeric_limits<std::int64_t>::min();
  for (const KinetoEvent& event : trace.events) {
    host_end_ns = std::max(host_end_ns, event.end_ns);
  }
  FinishDeviceTrace(source.path(), host_end_ns, trace.device, diagnostics);
  if (trace.events.empty() && trace.device.empty()) {
    return BadInput(
        fmt::format("{}: holds no host operation (category cpu_op); was the profiler "
                    "run with CPU activities?",
                    source.path()));
  }
  return trace;
}

}  // namespace reprise::pytorch
