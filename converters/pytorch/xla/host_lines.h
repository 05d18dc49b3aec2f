// The host's threads in a profile of XLA, event by event.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/xla/operation_events.h"
#include "converters/pytorch/xla/xspace_reader.h"

namespace reprise::pytorch {

// A process of a host drives all its devices. Each device gets its own launches, and the steps that
// the program marked (StepTraceAnnotation). The first gets the rest: waits, and ranges that the
// program or the runtime named. Frames of Python are left out, and counted.
class HostLines {
 public:
  HostLines(const XlaProfile& profile, const XlaDevice& device, bool first, bool steps,
            const std::unordered_set<std::int64_t>& launched, EventList& events, XlaCounts& counts)
      : profile_(profile),
        process_(kHostProcess + device.ordinal),
        first_(first),
        steps_(steps),
        launched_(launched),
        events_(events),
        counts_(counts) {}

  [[nodiscard]] Status Add(const XSpaceReader& reader, const XSpaceField& field);
  // Of a device's own clock, on a row of its own.
  void AddSpan(std::string_view name, std::int64_t start_ns, std::int64_t end_ns);

 private:
  // Ranks are told apart by their processes, whose numbers no device has.
  static constexpr std::int64_t kHostProcess = std::int64_t{1} << 24;
  void Begin(std::string_view category, std::string_view name, std::int64_t start_ns,
             std::int64_t end_ns, std::int64_t thread);

  const XlaProfile& profile_;
  std::int64_t process_;
  bool first_;
  bool steps_;  // those that the program marked are taken
  const std::unordered_set<std::int64_t>& launched_;
  EventList& events_;
  XlaCounts& counts_;
};

}  // namespace reprise::pytorch
