// One batch of a Kineto file's events, read.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converters/pytorch/kineto/begin_end.h"
#include "converters/pytorch/kineto/event_categories.h"
#include "converters/pytorch/kineto/event_rows.h"
#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/kineto/other_events.h"

namespace reprise::pytorch {

// What one batch of events holds. Times are those of the file, without its base; threads are rows.
struct KinetoPart {
  EventRows rows;
  ProcessNames processes;
  std::vector<KinetoEvent> events;
  std::vector<ModuleCall> modules;
  DeviceTrace device;
  std::vector<OtherEvent> others;
  std::vector<LaunchArrow> arrows;
  std::vector<EventHalf> halves;
  std::vector<CounterSample> counters;
  std::map<std::string, std::uint64_t> counters_left_out;  // samples, by name
  std::vector<std::size_t> damaged;                        // byte offsets
};

class EventBatch {
 public:
  // Arguments are read if there is no host trace to have them from.
  EventBatch(bool with_arguments, StringPool& strings, KinetoPart& part)
      : with_arguments_(with_arguments), strings_(strings), part_(part) {}

  // False: the event is damaged.
  bool Read(simdjson::dom::element root, const RawNumbers& raw);

 private:
  EventCategory KnownCategory(std::string_view name);
  void ReadProcessName(std::string_view what, const JsonMember& process, const JsonMember& args);
  void AddOperation(EventCategory category, std::string_view name, std::int32_t row,
                    const EventSpan& span, const JsonMember& args);
  void AddCall(std::string_view name, std::int32_t row, const EventSpan& span,
               const JsonMember& args);
  void AddArrow(bool begins, const JsonMember& id, std::int32_t row, const JsonMember& start,
                const RawNumbers& raw);
  bool AddCounter(std::string_view name, const JsonMember& process, const JsonMember& start,
                  const JsonMember& args, const RawNumbers& raw);
  void AddOther(simdjson::dom::element root, std::string_view category, std::int32_t row,
                const EventSpan& span);
  void SetPlace(EventCategory category, EventHalf& half) const;
  void ReadArguments(simdjson::dom::element args, std::string_view name, KinetoEvent& event) const;

  bool with_arguments_;
  BatchStrings strings_;
  KinetoPart& part_;
  std::vector<std::pair<std::string, EventCategory>> categories_;
  std::unordered_map<const std::string*, RuntimeKind> call_kinds_;
};

}  // namespace reprise::pytorch
