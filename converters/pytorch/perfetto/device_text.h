// What Perfetto's packets say of GPUs, as events of a Kineto file.
#pragma once

#include <cstdint>
#include <string_view>

#include "converters/pytorch/perfetto/event_text.h"
#include "converters/pytorch/perfetto/interned.h"

namespace reprise::pytorch {

// Adds the event or events of a message. Why it can't be, for a message; empty: it is done.
//
// A GpuRenderStageEvent, which began at `time_ns`.
[[nodiscard]] std::string_view AppendDeviceEvent(std::string_view message,
                                                 const InternedTexts& texts, std::int64_t time_ns,
                                                 EventList& events);
// A GpuCounterEvent of that time.
[[nodiscard]] std::string_view AppendCounters(std::string_view message, const InternedTexts& texts,
                                              std::int64_t time_ns, EventList& events);

}  // namespace reprise::pytorch
