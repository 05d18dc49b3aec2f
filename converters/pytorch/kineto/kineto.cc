#include "converters/pytorch/kineto/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "converters/json_stream.h"
#include "converters/pytorch/kineto/begin_end.h"
#include "converters/pytorch/kineto/counters.h"
#include "converters/pytorch/kineto/event_batch.h"
#include "converters/pytorch/kineto/event_rows.h"
#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/kineto/kineto_header.h"
#include "converters/pytorch/kineto/lost_times.h"
#include "converters/pytorch/kineto/nothing_read.h"
#include "converters/pytorch/kineto/other_events.h"
#include "core/counted.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

template <typename T>
void AppendTo(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  std::vector<T>().swap(from);
}

// All parts of a file. Threads are rows.
struct JoinedParts {
  EventRows rows;
  ProcessNames processes;
  std::vector<OtherEvent> others;
  std::vector<LaunchArrow> arrows;
  std::vector<EventHalf> halves;
  std::map<std::string, std::uint64_t> counters_left_out;  // samples, by name
};

// Indexes of a part become those of the whole: its rows, and where halves of events are.
void Renumber(KinetoPart& part, const KinetoTrace& trace, JoinedParts& all) {
  const std::vector<std::int32_t> rows = all.rows.Append(part.rows);
  const auto renumber = [&](auto& list, auto member) {
    for (auto& item : list) {
      item.*member = rows[static_cast<std::size_t>(item.*member)];
    }
  };
  renumber(part.events, &KinetoEvent::thread);
  renumber(part.modules, &ModuleCall::thread);
  renumber(part.device.calls, &RuntimeCall::thread);
  renumber(part.others, &OtherEvent::row);
  renumber(part.arrows, &LaunchArrow::row);
  renumber(part.halves, &EventHalf::row);
  for (EventHalf& half : part.halves) {
    using List = EventHalf::List;
    half.index += half.list == List::kEvents    ? trace.events.size()
                  : half.list == List::kModules ? trace.modules.size()
                  : half.list == List::kCalls   ? trace.device.calls.size()
                  : half.list == List::kDevice  ? trace.device.events.size()
                                                : all.others.size();
  }
}

// Frees parts as it goes: there is never room for all of them twice.
JoinedParts Join(std::vector<KinetoPart>& parts, KinetoTrace& trace) {
  JoinedParts all;
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
    Renumber(part, trace, all);
    for (const auto& [process, names] : part.processes) {
      auto& [name, labels] = all.processes[process];
      name = names.first.empty() ? name : names.first;
      labels = names.second.empty() ? labels : names.second;
    }
    AppendTo(trace.events, part.events);
    AppendTo(trace.modules, part.modules);
    AppendTo(trace.device.calls, part.device.calls);
    AppendTo(trace.device.events, part.device.events);
    AppendTo(trace.device.syncs, part.device.syncs);
    AppendTo(all.others, part.others);
    AppendTo(all.arrows, part.arrows);
    AppendTo(all.halves, part.halves);
    AppendTo(trace.counters, part.counters);
    for (const auto& [name, samples] : part.counters_left_out) {
      all.counters_left_out[name] += samples;
    }
  }
  return all;
}

// Leaves out what cannot have been when it says.
void LeaveOutLostTimes(const std::string& path, KinetoTrace& trace, Diagnostics& diagnostics) {
  FileSpan span;
  {
    std::vector<EventSpan> all;
    all.reserve(trace.events.size() + trace.device.calls.size() + trace.device.events.size());
    const auto add = [&](const auto& list) {
      for (const auto& item : list) {
        all.push_back({item.start_ns, item.end_ns});
      }
    };
    add(trace.events);
    add(trace.device.calls);
    add(trace.device.events);
    span = FindFileSpan(all);
  }
  if (span.IsAllTime()) {
    return;
  }
  const auto keep = [&](auto& list) {
    std::erase_if(list, [&](const auto& item) {
      const bool lost = !span.Holds({item.start_ns, item.end_ns});
      if (lost) {
        diagnostics.Count(
            "kineto_event_without_time",
            fmt::format("{}: {} from {:.3f} to {:.3f} us, all others from {:.3f} us on", path,
                        *item.name, static_cast<double>(item.start_ns) / 1e3,
                        static_cast<double>(item.end_ns) / 1e3,
                        static_cast<double>(span.first_ns) / 1e3));
      }
      return lost;
    });
  };
  keep(trace.events);
  keep(trace.modules);
  keep(trace.device.calls);
  keep(trace.device.events);
}

// Rows become thread numbers. Bad input where several processes are in the file.
Status NumberThreads(const std::string& path, const EventRows& rows, const ProcessNames& names,
                     KinetoTrace& trace, Diagnostics& diagnostics) {
  std::set<RowId> callers;
  for (const EventRow& row : rows.All()) {
    if (row.runtime_calls > 0 && !IsDevice(names, row.process)) {  // MTIA's have rows of calls
      callers.insert(row.process);
    }
  }
  std::vector<std::uint64_t> launches(rows.All().size());
  if (callers.size() > 1) {
    std::unordered_set<std::int64_t> launched;
    for (const DeviceEvent& event : trace.device.events) {
      launched.insert(event.work.correlation);
    }
    for (const RuntimeCall& call : trace.device.calls) {
      const RowId& process = rows.All()[static_cast<std::size_t>(call.thread)].process;
      if (call.correlation >= 0 && callers.contains(process) &&
          launched.contains(call.correlation)) {
        ++launches[static_cast<std::size_t>(call.thread)];
      }
    }
  }
  REPRISE_TRY(CheckOneProcess(path, rows, launches));
  if (!trace.events.empty()) {  // events of other processes are rare and not followed
    trace.process =
        rows.All()[static_cast<std::size_t>(trace.events.front().thread)].process.number;
  }
  const std::vector<std::int64_t> numbers = ThreadNumbers(path, rows, diagnostics);
  const auto number = [&](auto& list) {
    for (auto& item : list) {
      item.thread = numbers[static_cast<std::size_t>(item.thread)];
    }
  };
  number(trace.events);
  number(trace.modules);
  number(trace.device.calls);
  return {};
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
  for (CounterSample& sample : trace.counters) {
    sample.at_ns += base_ns;
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
    EventBatch events(with_arguments, *trace.strings, *part);
    REPRISE_TRY(VisitElements(
        batch, parser,
        [&](element root, std::size_t index, ElementPlaces& places, bool /*patched*/) -> Status {
          if (!events.Read(root, {places, index})) {
            part->damaged.push_back(places.AtByte(index));
          }
          return {};
        }));
    return [&parts, part] { parts.push_back(std::move(*part)); };
  };
  REPRISE_ASSIGN(const JsonFrame frame,
                 StreamObject(source, "traceEvents", read, "deviceProperties", true));
  std::int64_t base_ns = 0;
  JoinedParts all = Join(parts, trace);
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
  if (frame.open_list) {
    diagnostics.Count("event_list_open", source.path());
  }
  SettleCounters(source.path(), all.counters_left_out, trace.counters, diagnostics);
  JoinHalves(source.path(), all.halves, trace, all.others, diagnostics);
  EventCategories categories = CategoriesOf(all.others);
  PlaceOtherEvents(source.path(), all.others, all.arrows, all.rows, all.processes, trace.device,
                   diagnostics);
  LeaveOutLostTimes(source.path(), trace, diagnostics);
  REPRISE_TRY(NumberThreads(source.path(), all.rows, all.processes, trace, diagnostics));
  AddBase(base_ns, trace);
  std::int64_t host_end_ns = std::numeric_limits<std::int64_t>::min();
  for (const KinetoEvent& event : trace.events) {
    host_end_ns = std::max(host_end_ns, event.end_ns);
  }
  FinishDeviceTrace(source.path(), host_end_ns, trace.device, diagnostics);
  if (trace.events.empty() && trace.device.empty()) {
    return NothingRead(source.path(), std::move(categories), frame.json);
  }
  return trace;
}

}  // namespace reprise::pytorch
