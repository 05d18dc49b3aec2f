// Events in two halves ("ph": "B" and "E"), as tools other than Kineto write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/kineto/other_events.h"

namespace reprise::pytorch {

struct EventHalf {
  // Where the event that begins is; kNone: one that is not read.
  enum class List : std::uint8_t {
    kNone,
    kEvents,
    kModules,
    kCalls,
    kDevice,
    kOthers
  } list = List::kNone;
  bool begins = false;
  std::size_t index = 0;
  std::int64_t row = 0;
  std::int64_t at_ns = 0;
  std::int64_t slice = -1;  // that both halves name (perfetto_text.h); -1: none
};

// Gives every event that began the end of its slice or, without one, the end that its row has for
// it: the next one after all that began within it have ended. Removes what has none (counted:
// `kineto_event_without_time`, as are ends without a begin).
void JoinHalves(const std::string& path, std::vector<EventHalf>& halves, KinetoTrace& trace,
                std::vector<OtherEvent>& others, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
