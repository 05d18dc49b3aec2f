// Events of categories that event_categories.h does not know: other devices' plug-ins, Ascend's
// (which have no category), a program's own. What they are shows when all rows are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/kineto/device_events.h"
#include "converters/pytorch/kineto/event_rows.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

struct OtherEvent {
  const std::string* category = nullptr;  // "mtia_ccp_events"; empty: none
  std::int64_t row = 0;
  bool names_stream = false;  // its arguments do
  bool stream_sync = false;   // it is called like a wait of a stream, or what others wait for
  DeviceEvent event;          // as which it is read
};

// One end of an arrow from a moment on a host's thread to the begin of what was launched then
// (Ascend's "async_npu").
struct LaunchArrow {
  bool begins = false;  // the host's end
  std::int64_t id = 0;
  std::int64_t row = 0;
  std::int64_t at_ns = 0;
};

// Moves what is device work, and calls of a runtime, to `trace`:
// - device work names its stream; or it has a category, is on a row that is no host's, and the row
//   is labelled as a device or the event has the id of what launched it. A category of which most
//   events lie within other work of their streams marks that work and is none.
// - the begin of an arrow launched what its end is at, whatever ids both have.
// - a transfer of Ascend's library ("hcom_...") is work of a stream of its own. Tasks with its id
//   are parts of it.
// - a call is on a host's row and has the id of what it launched, or the name of a wait.
// The rest is counted with its time: `stream_sync_left_out`, `transfer_part_left_out`; by category,
// `device_category_left_out` and `host_category_left_out`.
void PlaceOtherEvents(const std::string& path, std::vector<OtherEvent>& others,
                      const std::vector<LaunchArrow>& arrows, const EventRows& rows,
                      const ProcessNames& names, DeviceTrace& trace, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
