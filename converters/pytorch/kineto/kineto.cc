#include "converters/pytorch/kineto/kineto.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

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
std::uint32_t HashInputDims(const simdjson::simdjson_result<element>& dims) {
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

enum class Outcome { kKept, kOther, kDamaged };

// An event's members, found in one walk.
struct Members {
  using Found = simdjson::simdjson_result<element>;
  Found phase{simdjson::NO_SUCH_FIELD}, category{simdjson::NO_SUCH_FIELD};
  Found name{simdjson::NO_SUCH_FIELD}, process{simdjson::NO_SUCH_FIELD};
  Found thread{simdjson::NO_SUCH_FIELD}, start{simdjson::NO_SUCH_FIELD};
  Found duration{simdjson::NO_SUCH_FIELD}, args{simdjson::NO_SUCH_FIELD};
};

Members FindMembers(element root) {
  Members out;
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    return out;
  }
  for (const auto& [key, value] : object) {
    const auto is = [&key = key, &value = value](std::string_view member, Members::Found& first) {
      if (key == member && first.error() != simdjson::SUCCESS) {
        first = Members::Found(element(value));
      }
      return key == member;
    };
    static_cast<void>(is("ph", out.phase) || is("cat", out.category) || is("name", out.name) ||
                      is("pid", out.process) || is("tid", out.thread) || is("ts", out.start) ||
                      is("dur", out.duration) || is("args", out.args));
  }
  return out;
}

// False: it has no times.
bool ReadSpan(const Members& members, std::int64_t& start_ns, std::int64_t& end_ns) {
  element start;
  element duration;
  std::int64_t duration_ns = 0;
  if (members.start.get(start) != simdjson::SUCCESS || !ReadMicroseconds(start, start_ns) ||
      members.duration.get(duration) != simdjson::SUCCESS ||
      !ReadMicroseconds(duration, duration_ns) || duration_ns < 0) {
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
  Outcome Read(element root) {
    const Members members = FindMembers(root);
    std::string_view phase;
    std::string_view category;
    if (members.phase.get(phase) != simdjson::SUCCESS || phase != "X" ||
        members.category.get(category) != simdjson::SUCCESS) {
      return Outcome::kOther;
    }
    const bool annotation = category == "user_annotation";
    const bool host = annotation || category == "cpu_op" || category == "Operator";  // until 1.11
    if (category == "python_function") {
      ReadModule(members);
      return Outcome::kOther;
    }
    if (!host && !MayBeDevices(category)) {
      return Outcome::kOther;
    }
    std::string_view name;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    if (members.name.get(name) != simdjson::SUCCESS || !ReadSpan(members, start_ns, end_ns)) {
      return host || IsDeviceCategory(category) ? Outcome::kDamaged : Outcome::kOther;
    }
    if (!host) {
      static_cast<void>(AddDeviceEvent(root, category, start_ns, end_ns, strings_, part_.device));
      return Outcome::kOther;
    }
    if (part_.events.empty()) {
      part_.process = WholeNumberOr(members.process, -1);
    }
    part_.events.push_back({.name = strings_.Intern(name),
                            .thread = WholeNumberOr(members.thread, -1),
                            .start_ns = start_ns,
                            .end_ns = end_ns,
                            .annotation = annotation});
    if (element args; members.args.get(args) == simdjson::SUCCESS) {
      ReadArguments(args, name, part_.events.back());
    }
    return Outcome::kKept;
  }

 private:
  // Noise, without a look at its times.
  static bool MayBeDevices(std::string_view category) {
    return category != "ac2g" && category != "fwdbwd";
  }

  // Of Python's calls only those of modules; without times it says nothing.
  void ReadModule(const Members& members) {
    std::string_view name;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    if (members.name.get(name) == simdjson::SUCCESS && name.starts_with("nn.Module: ") &&
        ReadSpan(members, start_ns, end_ns)) {
      part_.modules.push_back({.name = strings_.Intern(name),
                               .thread = WholeNumberOr(members.thread, -1),
                               .start_ns = start_ns,
                               .end_ns = end_ns});
    }
  }

  void ReadArguments(element args, std::string_view name, KinetoEvent& event) const {
    simdjson::dom::object object;
    if (args.get(object) != simdjson::SUCCESS) {
      return;
    }
    event.rf_id = WholeNumberOr(args["Record function id"], -1);
    event.external_id = WholeNumberOr(args["External id"], -1);
    event.ev_idx = WholeNumberOr(args["Ev Idx"], -1);
    event.seq_id = WholeNumberOr(args["Sequence number"], -1);
    event.input_shapes = HashInputDims(args["Input Dims"]);
    if (name == "record_param_comms") {
      event.comm = ReadKinetoComm(args);
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
          if (events.Read(root) == Outcome::kDamaged) {
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
  FinishDeviceTrace(source.path(), trace.device, diagnostics);
  if (trace.events.empty() && trace.device.empty()) {
    return BadInput(
        fmt::format("{}: holds no host operation (category cpu_op); was the profiler "
                    "run with CPU activities?",
                    source.path()));
  }
  return trace;
}

Result<KinetoTrace> ReadKineto(const TextFile& file, bool with_arguments,
                               Diagnostics& diagnostics) {
  return ReadKineto(*TextSource::OfText(file.path(), file.text()), with_arguments, diagnostics);
}

}  // namespace reprise::pytorch
